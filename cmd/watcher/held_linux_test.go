package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/configs"
	"torno/internal/cli"
	"torno/sandbox/launchers"
)

// stranger is a user who is neither root nor the one who runs the tests.
const stranger = 4711

// hersIn makes a directory of another user's.
func hersIn(t *testing.T, names ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root gives directories away")
	}
	dir := filepath.Join(append([]string{t.TempDir(), "hers"}, names...)...)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chown(dir, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNoKeyIsKeptWhereOthersLead (H25): another user has the directory of the state, with a link where the key goes.
func TestNoKeyIsKeptWhereOthersLead(t *testing.T) {
	state := hersIn(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(state, configs.GatewayName)); err != nil {
		t.Fatal(err)
	}
	err := keepKey("sk-0123456789", configs.Config{State: state}.KeyFile("claude"), state)
	if err == nil || !strings.Contains(err.Error(), "another user could replace the state directory") {
		t.Errorf("the key is kept: %v", err)
	}
	if found, err := os.ReadDir(elsewhere); err != nil || len(found) > 0 {
		t.Errorf("written through the link: %v, %v", found, err)
	}
}

// TestNoConfigurationIsWrittenWhereOthersReplaceIt (H25): init says which place is held, and writes nothing.
func TestNoConfigurationIsWrittenWhereOthersReplaceIt(t *testing.T) {
	dir := hersIn(t)
	a := newApp(launchers.All)
	a.Errors = cli.NewOutput(&strings.Builder{}, func(string) string { return "" })
	held := t.TempDir()
	for _, o := range []initial{
		{dir: filepath.Join(dir, "outbox"), file: filepath.Join(dir, "watcher.yaml"), state: filepath.Join(held, "state"), yes: true},
		{dir: filepath.Join(dir, "outbox"), file: filepath.Join(held, "watcher.yaml"), state: filepath.Join(dir, "deep", "state"), yes: true},
	} {
		err := a.init(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), dir+" belongs to user 4711") || !strings.Contains(err.Error(), "/torno") {
			t.Errorf("init says %v", err)
		}
	}
	for _, in := range []string{dir, held} {
		if found, err := os.ReadDir(in); err != nil || len(found) > 0 {
			t.Errorf("something was written: %v, %v", found, err)
		}
	}
}
