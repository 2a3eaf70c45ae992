// Package method turns what slurm.conf says about authentication (AuthType,
// AuthInfo) into the provers and checkers of package auth.
package method

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"muster/internal/auth"
	"muster/internal/auth/munge"
	"muster/internal/auth/sack"
	"muster/internal/auth/slurm"
)

// SocketVariable names a token service's socket for commands, before the usual
// ones; for several clusters on one host.
const SocketVariable = "MUSTER_SACK_SOCKET"

// Options are what the configuration says.
type Options struct {
	AuthType string // "auth/slurm" or "auth/munge"
	AuthInfo string
	Cluster  string
	KeyFile  string // of auth/slurm, beside slurm.conf
	KeyOwner uint32 // SlurmUser
}

// Info is the content of AuthInfo.
type Info struct {
	Socket     string        // munged's, or the token service's
	TTL        time.Duration // of tokens and munge credentials; 0: the default
	CredExpire time.Duration // of step credentials; 0: the default
}

// ParseInfo reads AuthInfo: "socket=PATH,ttl=SECONDS,cred_expire=SECONDS".
func ParseInfo(text string) (Info, error) {
	var info Info
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch strings.ToLower(key) {
		case "socket":
			if info.Socket = value; value == "" || value[0] != '/' {
				err = fmt.Errorf("%q is not an absolute path", value)
			}
		case "ttl":
			info.TTL, err = seconds(value)
		case "cred_expire":
			info.CredExpire, err = seconds(value)
		case "use_client_ids":
			err = errors.New("not supported yet")
		default:
			err = errors.New("it is none of cred_expire, socket, ttl, use_client_ids")
		}
		if err != nil {
			return Info{}, fmt.Errorf("AuthInfo: %s: %w", key, err)
		}
	}
	return info, nil
}

func seconds(value string) (time.Duration, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number of seconds", value)
	}
	return time.Duration(n) * time.Second, nil
}

func unknownType(authType string) error {
	return fmt.Errorf("AuthType=%s is not known: use auth/slurm or auth/munge", authType)
}

// ForCommand makes the prover of a command that runs as its user. It opens
// nothing until it is asked for a token.
func ForCommand(o Options) (auth.Prover, error) {
	info, err := ParseInfo(o.AuthInfo)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(o.AuthType) {
	case "auth/munge":
		return munge.Prover{Client: munge.Client{Socket: info.Socket, TTL: info.TTL}, Cluster: o.Cluster}, nil
	case "auth/slurm":
		var sockets []string
		if own := os.Getenv(SocketVariable); own != "" {
			sockets = append(sockets, own)
		}
		if info.Socket != "" {
			sockets = append(sockets, info.Socket)
		}
		return commandProver{sack.Prover{Sockets: append(sockets, sack.DefaultSockets...)}, o, info.TTL}, nil
	}
	return nil, unknownType(o.AuthType)
}

// commandProver asks the token service, and falls back on the key for those who
// can read it: root and SlurmUser on a host where nothing runs yet.
type commandProver struct {
	sack.Prover
	options Options
	ttl     time.Duration
}

func (p commandProver) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	token, err := p.Prover.Prove(ctx, binding)
	if !errors.Is(err, sack.ErrNoService) || p.options.KeyFile == "" {
		return token, err
	}
	key, keyErr := slurm.LoadKey(p.options.KeyFile, p.options.KeyOwner)
	if keyErr != nil {
		if errors.Is(keyErr, os.ErrPermission) || errors.Is(keyErr, os.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("%w; %w", err, keyErr)
	}
	issuer, keyErr := slurm.NewIssuer(key, p.options.Cluster, p.ttl)
	if keyErr != nil {
		return nil, keyErr
	}
	return issuer.Prover().Prove(ctx, binding)
}

// Daemon is what a daemon needs to serve and to connect.
type Daemon struct {
	Prover  auth.Prover
	Checker auth.Checker
	Issuer  *slurm.Issuer // for the token service; nil with auth/munge
	Info    Info
}

// ForDaemon makes both sides. With auth/slurm it reads the key, once.
func ForDaemon(o Options) (*Daemon, error) {
	info, err := ParseInfo(o.AuthInfo)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(o.AuthType) {
	case "auth/munge":
		client := munge.Client{Socket: info.Socket, TTL: info.TTL}
		return &Daemon{Prover: munge.Prover{Client: client, Cluster: o.Cluster},
			Checker: munge.Checker{Client: client, Cluster: o.Cluster}, Info: info}, nil
	case "auth/slurm":
		key, err := slurm.LoadKey(o.KeyFile, o.KeyOwner)
		if err != nil {
			return nil, err
		}
		issuer, err := slurm.NewIssuer(key, o.Cluster, info.TTL)
		if err != nil {
			return nil, err
		}
		checker, err := slurm.NewChecker(key, o.Cluster)
		if err != nil {
			return nil, err
		}
		return &Daemon{Prover: issuer.Prover(), Checker: checker, Issuer: issuer, Info: info}, nil
	}
	return nil, unknownType(o.AuthType)
}
