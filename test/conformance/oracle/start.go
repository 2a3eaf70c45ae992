package oracle

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (c *Cluster) startMunged(ctx context.Context) error {
	uid, gid, err := ids("munge")
	if err != nil {
		return err
	}
	dir := filepath.Join(c.cfg.Dir, "munge")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make munged's folder: %w", err)
	}
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make munged's key: %w", err)
	}
	keyFile := filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("write munged's key: %w", err)
	}
	for _, path := range []string{dir, keyFile} {
		if err := os.Chown(path, int(uid), int(gid)); err != nil {
			return fmt.Errorf("give munged its folder: %w", err)
		}
	}
	bin, err := program("munged")
	if err != nil {
		return err
	}
	// --force: the folder may lie below one that others can write.
	d, err := c.spawn("munged", uid, gid, nil, bin, "--foreground", "--force", "--num-threads=10", "--socket="+c.mungeSocket(),
		"--key-file="+keyFile, "--pid-file="+dir+"/pid", "--log-file="+dir+"/log", "--seed-file="+dir+"/seed")
	if err != nil {
		return err
	}
	return awaitSocket(ctx, d, "unix", c.mungeSocket())
}

func (c *Cluster) startMariaDB(ctx context.Context) error {
	uid, gid, err := ids("mysql")
	if err != nil {
		return err
	}
	data := filepath.Join(c.cfg.Dir, "mysql")
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("make MariaDB's folder: %w", err)
	}
	if err := os.Chown(data, int(uid), int(gid)); err != nil {
		return fmt.Errorf("give MariaDB its folder: %w", err)
	}
	install, err := program("mariadb-install-db")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, install, "--no-defaults", "--user=mysql", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db").CombinedOutput()
	if err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	initFile := filepath.Join(c.cfg.Dir, "etc", "init.sql")
	sql := "CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n" +
		"CREATE USER IF NOT EXISTS 'slurm'@'127.0.0.1' IDENTIFIED BY 'oracle';\n" +
		"CREATE USER IF NOT EXISTS 'slurm'@'localhost' IDENTIFIED BY 'oracle';\n" +
		"GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1';\nGRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';\n"
	if err := os.WriteFile(initFile, []byte(sql), 0o644); err != nil {
		return fmt.Errorf("write MariaDB's first statements: %w", err)
	}
	bin, err := program("mariadbd")
	if err != nil {
		return err
	}
	d, err := c.spawn("mariadbd", uid, gid, nil, bin, "--no-defaults", "--datadir="+data, "--socket="+data+"/sock",
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(c.ports.sql), "--pid-file="+data+"/pid", "--init-file="+initFile,
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--innodb-lock-wait-timeout=900")
	if err != nil {
		return err
	}
	return awaitSocket(ctx, d, "tcp", addr(c.ports.sql))
}

func (c *Cluster) startSlurmdbd(ctx context.Context) error {
	bin, err := program("slurmdbd")
	if err != nil {
		return err
	}
	env := append(c.Env(), "SLURMDBD_CONF="+filepath.Join(c.cfg.Dir, "etc", "slurmdbd.conf"))
	d, err := c.spawn("slurmdbd", 0, 0, env, bin, "-D")
	if err != nil {
		return err
	}
	if err := awaitSocket(ctx, d, "tcp", addr(c.ports.dbd)); err != nil {
		return err
	}
	return poll(ctx, 30*time.Second, func() error {
		_, err := c.run(ctx, "sacctmgr", "-i", "-Q", "list", "cluster")
		return err
	})
}

func (c *Cluster) startSlurmctld(ctx context.Context) error {
	bin, err := program("slurmctld")
	if err != nil {
		return err
	}
	// The cluster is made known first: a controller that registers itself later
	// would lose the records of its first seconds.
	if _, err := c.run(ctx, "sacctmgr", "-i", "add", "cluster", "muster"); err != nil {
		return err
	}
	d, err := c.spawn("slurmctld", 0, 0, nil, bin, "-D", "-f", c.ConfPath())
	if err != nil {
		return err
	}
	return awaitSocket(ctx, d, "tcp", addr(c.ports.ctld))
}

func (c *Cluster) startSlurmds(context.Context) error {
	bin, err := program("slurmd")
	if err != nil {
		return err
	}
	for i := range c.ports.slurmd {
		node := fmt.Sprintf("node%d", i+1)
		if err := os.MkdirAll(filepath.Join(c.cfg.Dir, "spool", node), 0o755); err != nil {
			return fmt.Errorf("make the spool of %s: %w", node, err)
		}
		if _, err := c.spawn("slurmd."+node, 0, 0, nil, bin, "-D", "-N", node, "-f", c.ConfPath()); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) awaitNodes(ctx context.Context) error {
	return poll(ctx, 60*time.Second, func() error {
		for _, d := range c.daemons {
			if err := d.alive(); err != nil {
				return err
			}
		}
		out, err := c.run(ctx, "sinfo", "-h", "-N", "-o", "%T")
		if err != nil {
			return err
		}
		for _, state := range strings.Fields(out) {
			if state != "idle" {
				return fmt.Errorf("node states are %s", strings.Join(strings.Fields(out), " "))
			}
		}
		return nil
	})
}

func awaitSocket(ctx context.Context, d *daemon, network, address string) error {
	return poll(ctx, 60*time.Second, func() error {
		if err := d.alive(); err != nil {
			return err
		}
		conn, err := net.DialTimeout(network, address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
