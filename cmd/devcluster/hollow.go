package main

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// hollow runs the simulated nodes of the cluster until it is told to end.
func hollow(*cli.Context) error {
	return errors.New("not supported yet: hollow nodes")
}
