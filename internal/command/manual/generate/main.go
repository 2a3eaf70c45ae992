// Command generate writes the manual pages and completions below a folder, where
// an installation has them: man/, bash-completion/, zsh/ and fish/.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"muster/internal/command/manual"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER (the share folder of the installation)")
		os.Exit(2)
	}
	if err := manual.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
	fmt.Println("manual pages and completions in", filepath.Clean(os.Args[1]))
}
