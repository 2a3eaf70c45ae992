// Package setup makes the secrets of a new cluster: slurm.key, the controller's
// key and its public half. Tools that bring up a whole cluster use it; ctld
// makes its own key at its first start and needs none of this.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
)

// Cluster makes what is missing: slurm.key and muster.pub in confDir, and the
// controller's key in stateDir (StateSaveLocation). All of it belongs to uid and
// gid (SlurmUser; without root, the caller). What exists is left as it is.
func Cluster(confDir, stateDir string, uid, gid int) error {
	if err := slurm.CreateKey(filepath.Join(confDir, slurm.KeyFile), uid, gid); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	private, public := filepath.Join(stateDir, pki.KeyFile), filepath.Join(confDir, pki.PublicFile)
	_, errPrivate := os.Lstat(private)
	_, errPublic := os.Lstat(public)
	if errPrivate == nil && errPublic == nil {
		return nil
	}
	controller, err := pki.OpenController(stateDir)
	if err != nil {
		return err
	}
	if err := controller.WritePublic(confDir); err != nil {
		return err
	}
	for _, path := range []string{private, public} {
		if err := os.Chown(path, uid, gid); err != nil {
			return fmt.Errorf("giving the cluster's keys to SlurmUser: %w", err)
		}
	}
	return nil
}
