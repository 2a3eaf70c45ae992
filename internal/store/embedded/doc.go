// Package embedded runs a private PostgreSQL of the installed server binaries
// under the controller's StateSaveLocation, for a cluster whose configuration
// names no database.
//
// It only makes a server be there: it knows paths, processes and settings, and
// nothing of tables or SQL beyond creating the database. The server runs in its
// own session and outlives a crash of the controller, which adopts it at its
// next start. It listens on a unix socket in a folder that only its user (and
// root) can enter, and nowhere else; so it serves one host.
package embedded
