package option

import (
	"strconv"
	"strings"
)

// distribution reads -m: how tasks are laid over nodes, sockets and cores.
func distribution(o *Options, e *Entry, value string) error {
	if size, ok := strings.CutPrefix(value, "plane"); ok {
		n, err := strconv.ParseUint(strings.TrimPrefix(size, "="), 10, 31)
		if (err != nil || n == 0) && o.Spec.PlaneSize == 0 {
			return invalid(e, Message{Error, "Invalid plane size or size not specified"})
		}
		if n > 0 {
			o.Spec.PlaneSize = uint32(n)
		}
		o.Spec.DistributionText = "plane=" + strconv.FormatUint(uint64(o.Spec.PlaneSize), 10)
		return nil
	}
	levels, pack, packed := strings.Cut(value, ",")
	words := strings.Split(strings.ToLower(levels), ":")
	if len(words) > 3 {
		return invalid(e)
	}
	for i, word := range words {
		switch word {
		case "*":
			words[i] = []string{"block", "cyclic", "cyclic"}[i]
		case "block", "cyclic":
		case "arbitrary":
			if i > 0 {
				return invalid(e)
			}
		case "fcyclic":
			if i == 0 {
				return invalid(e)
			}
		default:
			return invalid(e)
		}
	}
	text := strings.Join(words, ":")
	if packed {
		pack = strings.ToLower(pack)
		if pack != "pack" && pack != "nopack" {
			return invalid(e)
		}
		text += "," + pack
	}
	o.Spec.DistributionText = text
	return nil
}

// planeSize is what SLURM_DIST_PLANESIZE gives to a later `plane`.
func planeSize(o *Options, _ *Entry, value string) error {
	n, err := number(value, "SLURM_DIST_PLANESIZE", 1)
	o.Spec.PlaneSize = n
	return err
}

// nodeInfo reads -B: sockets[:cores[:threads]], a star for any number.
func nodeInfo(o *Options, _ *Entry, value string) error {
	parts := strings.SplitN(value, ":", 4)
	fields := []*uint32{&o.Spec.SocketsPerNode, &o.Spec.CoresPerSocket, &o.Spec.ThreadsPerCore}
	names := []string{"first", "second", "third"}
	for i, part := range parts[:min(len(parts), 3)] {
		if part == "*" {
			continue
		}
		n, err := number(part, names[i]+" arg of -B", 1)
		if err != nil {
			return err
		}
		*fields[i] = n
	}
	return nil
}

const hintHelp = `Application hint options:
    --hint=             what the program needs
        compute_bound   all cores of each socket
        memory_bound    one core of each socket
        [no]multithread [no] more than one thread of a core
        help            this text`

func hint(o *Options, e *Entry, value string) error {
	for word := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch word {
		case "compute_bound", "memory_bound", "multithread", "nomultithread":
		case "help":
			return &Refusal{Messages: []Message{{Raw, hintHelp}}, Code: codeError}
		default:
			return errorf(codeError, `unrecognized --hint argument "%s", see --hint=help`, value)
		}
	}
	o.Spec.Hint = value
	return nil
}

// gpuBind takes what asks for no binding: tasks are not bound to GPUs yet.
func gpuBind(o *Options, e *Entry, value string) error {
	kind := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(value), "verbose,"), "v,")
	switch {
	case kind == "none":
		o.Spec.GpuBind = value
		return nil
	case kind == "closest", strings.HasPrefix(kind, "single:"), strings.HasPrefix(kind, "map_gpu:"),
		strings.HasPrefix(kind, "mask_gpu:"), strings.HasPrefix(kind, "per_task:"):
		return NotSupported("--" + e.Long + "=" + value)
	}
	return errorf(codeValue, "Invalid --gpu-bind argument: gpu:%s", value)
}

func gresFlags(o *Options, e *Entry, value string) error {
	switch strings.ToLower(value) {
	case "disable-binding":
		o.Spec.GresFlags = value
		return nil
	case "enforce-binding", "allow-task-sharing", "multiple-tasks-per-sharing", "one-task-per-sharing":
		return NotSupported("--" + e.Long + "=" + value)
	}
	return invalid(e)
}

func memBind(o *Options, e *Entry, value string) error {
	for word := range strings.SplitSeq(strings.ToLower(value), ",") {
		kind, _, _ := strings.Cut(word, ":")
		switch kind {
		case "q", "quiet", "v", "verbose", "none", "no", "local", "rank", "map_mem", "mask_mem", "sort", "nosort", "p", "prefer", "help":
		default:
			if strings.HasPrefix(kind, "0x") || kind != "" && strings.Trim(kind, "0123456789") == "" {
				continue // the rest of a list of numbers
			}
			return errorf(codeValue, `unrecognized --mem-bind argument "%s"`, value)
		}
	}
	o.Spec.MemBind = value
	return nil
}

func switches(o *Options, e *Entry, value string) error {
	countText, wait, timed := strings.Cut(value, "@")
	n, err := number(countText, "--"+e.Long, 0)
	if err != nil {
		return err
	}
	o.Spec.Switches = n
	if timed {
		seconds, ok := waitSeconds(wait)
		if !ok {
			return nil // Slurm takes it for no limit
		}
		o.Spec.SwitchesWait = seconds
	}
	return nil
}

// switchesWait is how long a job waits for the number of switches it asks for.
func switchesWait(o *Options, _ *Entry, value string) error {
	if seconds, ok := waitSeconds(value); ok {
		o.Spec.SwitchesWait = seconds
	}
	return nil
}
