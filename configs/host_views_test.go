package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox/launchers"
)

// TestViewsThatDoNotAgree are found, and the key to change is named.
func TestViewsThatDoNotAgree(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"outbox/workspaces", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ view, key, says string }{
		"as it should be":        {"{parent: /outbox, here: %[1]s/outbox}", "", ""},
		"only the engine's name": {"{parent: /outbox, here: %[1]s/outbox, engine: /there/is/no/such}", "", ""},
		"nothing there":          {"{parent: /outbox, here: %[1]s/typo}", "paths[0].here", "is not there: requests for /outbox are refused"},
		"no root":                {"{parent: /data, here: %[1]s/elsewhere}", "paths[0].here", "is not in a root"},
		"two directories":        {"{parent: /outbox, here: %[1]s/outbox, engine: %[1]s/elsewhere}", "paths[0].engine", "is another directory"},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf("version: 1\nstate: %[1]s/state\noutboxes:\n  a: {dir: %[1]s/outbox, allow: [%[1]s/outbox/workspaces], paths: ["+c.view+"]}\n", dir)
			config, _, err := Parse(launchers.All, "c.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			r := &report{noLines: true}
			checkViews(r, &config.Outboxes[0])
			warnings, err := r.result()
			if err != nil {
				t.Fatal(err)
			}
			if c.says == "" && len(warnings) > 0 {
				t.Errorf("it warns of %v", warnings)
			}
			if c.says != "" && (len(warnings) != 1 || !strings.HasSuffix(warnings[0].Key, c.key) || !strings.Contains(warnings[0].String(), c.says)) {
				t.Errorf("it warns of %v", warnings)
			}
		})
	}
}
