// Package supervisor speaks to whatever keeps a daemon running: it tells systemd
// when the daemon serves. It must not start, stop or restart anything itself.
package supervisor

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the daemon serves now, if NOTIFY_SOCKET names somebody who
// waits for it (sd_notify(3)). The variable is taken out of the environment, so
// that no job finds it. With expected, nobody waiting is worth a warning.
func Ready(log *slog.Logger, expected bool) {
	sent, err := daemon.SdNotify(true, daemon.SdNotifyReady)
	if err != nil || expected && !sent {
		log.Warn("--systemd: systemd does not listen for our word", "error", err)
	}
}
