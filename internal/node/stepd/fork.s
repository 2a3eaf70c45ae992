// Lets the Go files of this package declare functions of the runtime without a body.
