package devcluster

import (
	"errors"
	"io"
)

// ignoreEOF makes the orderly end of a stream no error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
