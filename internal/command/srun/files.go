package srun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"muster/internal/wire"
)

// target is where one standard stream goes or comes from, as -o, -e and -i say.
type target struct {
	node bool   // the nodes open the path
	path string // what srun or the nodes open; empty = srun's own stream
	none bool
	only int // one task, -1 = all
}

// readTarget reads the value of -o, -e or -i.
func readTarget(value string, tasks uint32) target {
	t := target{only: -1}
	switch strings.ToLower(value) {
	case "", "all":
		return t
	case "none":
		t.none = true
		return t
	}
	if n, err := strconv.ParseUint(value, 10, 31); err == nil && uint32(n) < tasks {
		t.only = int(n)
		return t
	}
	t.path, t.node = value, perTask(value)
	return t
}

// perTask tells whether a name has symbols that only the nodes know: those of
// a task or a node.
func perTask(pattern string) bool {
	if strings.Contains(pattern, `\`) {
		return false
	}
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		for i++; i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9'; i++ {
		}
		if i < len(pattern) && strings.IndexByte("tnN", pattern[i]) >= 0 {
			return true
		}
	}
	return false
}

// widest is the largest width that a number is filled to.
const widest = 10

// expand replaces the symbols of a name that all tasks share. A backslash
// switches them off and is taken away.
func expand(pattern string, job *wire.JobInfo, step int32) string {
	if strings.Contains(pattern, `\`) {
		return strings.ReplaceAll(pattern, `\`, "")
	}
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		end := i + 1
		for end < len(pattern) && pattern[end] >= '0' && pattern[end] <= '9' {
			end++
		}
		if end == len(pattern) {
			out.WriteString(pattern[i:])
			break
		}
		text, known := symbol(pattern[end], job, step)
		if !known {
			text = pattern[i : end+1]
		} else if width, err := strconv.Atoi(pattern[i+1 : end]); err == nil && numeric(text) {
			text = strings.Repeat("0", max(min(width, widest)-len(text), 0)) + text
		}
		out.WriteString(text)
		i = end
	}
	return out.String()
}

func numeric(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func symbol(letter byte, job *wire.JobInfo, step int32) (string, bool) {
	number := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	state := job.GetState()
	switch letter {
	case '%':
		return "%", true
	case 'A':
		if state.GetArrayJobId() != 0 {
			return number(state.GetArrayJobId()), true
		}
		return number(state.GetJobId()), true
	case 'a', 'b':
		task := state.GetArrayTaskId()
		if !state.GetIsArrayTask() {
			task = 0xfffffffe
		}
		if letter == 'b' {
			task %= 10
		}
		return number(task), true
	case 'J':
		return fmt.Sprintf("%d.%d", state.GetJobId(), step), true
	case 'j':
		return number(state.GetJobId()), true
	case 's':
		return strconv.Itoa(int(step)), true
	case 'u':
		return job.GetSpec().GetUserName(), true
	case 'x':
		return job.GetSpec().GetName(), true
	}
	return "", false
}

// openOutput opens a file that all tasks share, and makes its folder.
func openOutput(path, folder string, append bool) (*os.File, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	file, err := os.OpenFile(path, flags, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			return os.OpenFile(path, flags, 0o666)
		}
	}
	return file, err
}

// systemText is the system's word for what went wrong.
func systemText(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	text := err.Error()
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
