// Package profile lets the daemons be profiled while they run: Go's pprof, on a
// unix socket that only their own user can open.
//
// It is off unless asked for by MUSTER_PPROF, and must never listen on a network.
package profile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"
)

// Folder is the variable that names the folder of the sockets.
const Folder = "MUSTER_PPROF"

// Serve listens on NAME.sock in the folder that MUSTER_PPROF names, until ctx
// ends. Without the variable it does nothing.
func Serve(ctx context.Context, name string) error {
	dir := os.Getenv(Folder)
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, name+".sock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", Folder, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("%s: %w", Folder, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // the first error is the one to tell
		return fmt.Errorf("%s: %w", Folder, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	return nil
}
