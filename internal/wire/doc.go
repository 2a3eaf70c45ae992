// Package wire holds the messages that programs of a cluster exchange and that
// the store keeps, and the services that carry them. Its Go files are
// generated from the .proto files (gen.sh, `make proto`).
//
// It must hold no behaviour: what a message means is decided elsewhere.
package wire
