package manual

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write puts all pages and completions below a folder such as /usr/local/share.
func Write(share string) error {
	pages := Pages()
	files := map[string]string{}
	for i := range pages {
		p := &pages[i]
		files["man/man"+p.Section+"/"+p.Name+"."+p.Section] = p.Roff()
		if p.completed() {
			files["bash-completion/completions/"+p.Name] = p.Bash()
			files["zsh/site-functions/_"+p.Name] = p.Zsh()
			files["fish/vendor_completions.d/"+p.Name+".fish"] = p.Fish()
		}
	}
	for name, text := range files {
		path := filepath.Join(share, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}
