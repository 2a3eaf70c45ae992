package client

import (
	"errors"
	"io"
)

// Pages hands each page of a streamed answer to take, until the last.
func Pages[T any](next func() (T, error), take func(T) error) error {
	for {
		page, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
	}
}
