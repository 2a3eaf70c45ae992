#!/bin/sh
# Writes the Go files of the .proto files beside it.
cd "$(dirname "$0")/../.." && exec go run ./internal/wire/gen internal/wire
