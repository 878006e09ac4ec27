package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/configs"
	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/launchers"
)

// TestNoRequestReachesTheConfiguration (H25): a child that writes where it lies would tell the watcher what to execute.
func TestNoRequestReachesTheConfiguration(t *testing.T) {
	top := t.TempDir()
	project := filepath.Join(top, "project")
	for _, dir := range []string{"box", "state", "project/free", "project/etc", "project/linked"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file, link := filepath.Join(project, "etc", "watcher.yaml"), filepath.Join(project, "linked", "watcher.yaml")
	text := fmt.Appendf(nil, "version: 1\nstate: %[1]s/state\noutboxes: {main: {dir: %[1]s/box, allow: [%[1]s/project]}}\n", top)
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	c, _, err := configs.Load(launchers.All, link)
	if err != nil {
		t.Fatal(err)
	}
	warnings, _ := c.CheckHost() // what else is missing here does not matter
	if !slices.ContainsFunc(warnings, func(w configs.Warning) bool { return w.Key == "outboxes.main.allow[0]" }) {
		t.Errorf("it is warned of %v", warnings)
	}
	bases, err := openBases(c, roots(c.Outboxes), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Close()
	hidden := c.Policies()[0].Hidden
	for rel, free := range map[string]bool{"free": true, "etc": false, "linked": false, ".": false} {
		pin, err := bases.Pin(sandbox.Source{Base: project, Rel: rel})
		if _, withheld := errors.AsType[*mounts.WithheldError](err); withheld == free {
			t.Errorf("%s: %v", rel, err)
		}
		if err == nil {
			pin.Close()
		}
	}
	for _, file := range []string{file, link} {
		if !slices.Contains(hidden, file) {
			t.Errorf("%s is not among %v", file, hidden)
		}
	}
}

// TestNoRequestReachesACredential: what a route reads its credential from is kept from children, also where a root for context holds it.
func TestNoRequestReachesACredential(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	for _, dir := range []string{"box", "state", "ws", "home/keys", "home/.claude", "home/proj"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"keys/key", "keys/other", ".claude/.credentials.json", ".claude/new"} {
		if err := os.WriteFile(filepath.Join(home, file), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, warnings, err := configs.Parse(launchers.All, "c.yaml", fmt.Appendf(nil, `version: 1
state: %[1]s/state
gateway: {routes: {
  one: {preset: anthropic, credential: {file: %[1]s/home/keys/key}},
  two: {preset: claude-login, credential: {claude: %[1]s/home/.claude/.credentials.json}}}}
profiles: {p: {}}
outboxes: {main: {dir: %[1]s/box, allow: [%[1]s/ws], read: [%[1]s/home]}}
`, top))
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) < 2 {
		t.Errorf("it is warned of %v", warnings)
	}
	bases, err := openBases(c, roots(c.Outboxes), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Close()
	hidden := c.Policies()[0].Hidden
	for rel, free := range map[string]bool{
		"proj": true, "keys/other": true, "keys/key": false, "keys": false, ".claude": false, ".claude/.credentials.json": false, ".claude/new": false, ".": false,
	} {
		pin, err := bases.Pin(sandbox.Source{Base: home, Rel: rel})
		var why *mounts.PathError
		if withheld := errors.As(err, &why) && why.Kind == mounts.KindWithheld; withheld == free {
			t.Errorf("%s: %v", rel, err)
		}
		if err == nil {
			pin.Close()
		}
	}
	for _, place := range []string{filepath.Join(home, "keys/key"), filepath.Join(home, ".claude")} {
		if !slices.Contains(hidden, place) {
			t.Errorf("%s is not among %v", place, hidden)
		}
	}
}

// TestACredentialThatCannotBeFound ends no start: whoever owns a directory on the way to it could make it so.
func TestACredentialThatCannotBeFound(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"box", "state", "ws"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("key", filepath.Join(top, "key")); err != nil {
		t.Fatal(err)
	}
	c, _, err := configs.Parse(launchers.All, "c.yaml", fmt.Appendf(nil, `version: 1
state: %[1]s/state
gateway: {routes: {one: {preset: anthropic, credential: {file: %[1]s/key}}}}
profiles: {p: {}}
outboxes: {main: {dir: %[1]s/box, allow: [%[1]s/ws]}}
`, top))
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	bases, err := openBases(c, roots(c.Outboxes), slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || !strings.Contains(said.String(), "a credential of the gateway cannot be found") {
		t.Fatalf("%v, %q", err, said.String())
	}
	bases.Close()
}
