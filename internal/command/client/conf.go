// Package client connects a command to the controller: it finds slurm.conf,
// picks the way there, proves who asks, and asks again where Slurm's commands
// do.
//
// It reads only the few keys of slurm.conf that a client needs and believes
// them; checking the file is the daemons' business (package conf).
package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Host is one SlurmctldHost.
type Host struct{ Name, Addr string }

// Conf is what a client takes from slurm.conf.
type Conf struct {
	Path           string
	Cluster        string
	Controllers    []Host
	Port           string
	AuthType       string
	AuthInfo       string
	SlurmUser      string
	MessageTimeout time.Duration
	keys           map[string]string
}

// ErrNoConf says that there is no slurm.conf anywhere.
var ErrNoConf = errors.New("Could not establish a configuration source")

// confPlaces are looked at when SLURM_CONF is not set; the last is where a
// daemon of a configless host keeps its copy.
var confPlaces = []string{"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"}

// FindConf returns the path of slurm.conf.
func FindConf(getenv func(string) string) (string, error) {
	if path := getenv("SLURM_CONF"); path != "" {
		return path, nil
	}
	for _, path := range confPlaces {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", ErrNoConf
}

// ReadConf reads the file that FindConf finds.
func ReadConf(getenv func(string) string) (*Conf, error) {
	path, err := FindConf(getenv)
	if err != nil {
		return nil, err
	}
	c := &Conf{
		Path: path, Port: "6817", AuthType: "auth/munge", SlurmUser: "root",
		MessageTimeout: 10 * time.Second, keys: make(map[string]string),
	}
	if err := c.read(path, 0); err != nil {
		return nil, err
	}
	if len(c.Controllers) == 0 {
		return nil, fmt.Errorf("%s names no SlurmctldHost", path)
	}
	return c, nil
}

// Get returns another key's value as it stands in the file; names are compared
// without case.
func (c *Conf) Get(key string) string { return c.keys[strings.ToLower(key)] }

const maxIncludes = 16 // deep; one that includes itself ends there

func (c *Conf) read(path string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: Include is nested too deeply", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	var joined string
	for scanner.Scan() {
		line := joined + scanner.Text()
		joined = ""
		if head, ok := strings.CutSuffix(line, `\`); ok {
			joined = head
			continue
		}
		if err := c.line(path, strip(line), depth); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// strip drops a comment and the blanks around what is left.
func strip(line string) string {
	for i := 0; i < len(line); i++ {
		if line[i] == '#' && (i == 0 || line[i-1] != '\\') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

func (c *Conf) line(path, line string, depth int) error {
	if line == "" {
		return nil
	}
	if word, rest, _ := strings.Cut(line, " "); strings.EqualFold(word, "include") {
		file := strings.TrimSpace(rest)
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		return c.read(file, depth+1)
	}
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return nil
	}
	key = strings.ToLower(strings.TrimSpace(key))
	switch key {
	case "nodename", "partitionname", "nodeset", "downnodes": // many, long, of no use here
		return nil
	}
	for {
		var rest string
		value, rest = cutValue(value)
		c.set(key, value)
		if key, value, ok = strings.Cut(rest, "="); !ok {
			return nil
		}
		key = strings.ToLower(strings.TrimSpace(key))
	}
}

// cutValue takes a value, quoted or not, off the rest of its line.
func cutValue(text string) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		value, rest, _ = strings.Cut(quoted, `"`)
		return value, rest
	}
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

func (c *Conf) set(key, value string) {
	c.keys[key] = value
	switch key {
	case "clustername":
		c.Cluster = value
	case "slurmctldhost", "controlmachine", "backupcontroller":
		name, addr, ok := strings.Cut(strings.TrimSuffix(value, ")"), "(")
		if !ok {
			addr = name
		}
		c.Controllers = append(c.Controllers, Host{name, addr})
	case "slurmctldport":
		c.Port, _, _ = strings.Cut(value, "-")
	case "authtype":
		c.AuthType = value
	case "authinfo":
		c.AuthInfo = value
	case "slurmuser":
		c.SlurmUser, _, _ = strings.Cut(value, "(")
	case "messagetimeout":
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			c.MessageTimeout = time.Duration(n) * time.Second
		}
	}
}

// here tells whether a controller is meant to run on this host.
func (c *Conf) here() bool {
	name, err := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	for _, host := range c.Controllers {
		switch host.Addr {
		case "localhost", "127.0.0.1", "::1":
			return true
		}
		if err == nil && (host.Name == name || host.Name == short) {
			return true
		}
	}
	return false
}
