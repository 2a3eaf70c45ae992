// Package client connects a command to the controller: it finds slurm.conf,
// picks the way there, proves who asks, and asks again where Slurm's commands
// do.
package client

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"muster/internal/conf"
)

// Host is one SlurmctldHost.
type Host = conf.ControllerHost

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
	file           *conf.Config
}

// ErrNoConf says that there is no slurm.conf anywhere.
var ErrNoConf = errors.New("Could not establish a configuration source")

// FindConf returns the path of slurm.conf: SLURM_CONF, the usual place, or where
// a daemon of a configless host keeps its copy.
func FindConf(getenv func(string) string) (string, error) {
	if path := getenv("SLURM_CONF"); path != "" {
		return path, nil
	}
	for _, path := range []string{conf.DefaultPath, conf.CopyPath} {
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
	file, err := conf.LoadClient(path)
	if err != nil {
		return nil, err
	}
	c := &Conf{
		Path: path, Cluster: file.ClusterName, Controllers: file.SlurmctldHosts,
		Port:     strconv.Itoa(file.SlurmctldPorts[0]),
		AuthType: file.AuthType, AuthInfo: file.Text("AuthInfo"), MessageTimeout: file.MessageTimeout, file: file,
	}
	c.SlurmUser, _, _ = strings.Cut(file.SlurmUser, "(")
	return c, nil
}

// Get returns another key's value as it stands in the file; names are compared
// without case.
func (c *Conf) Get(key string) string { return c.file.Text(key) }

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
