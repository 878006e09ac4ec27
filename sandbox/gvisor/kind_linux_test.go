package gvisor

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/launcher"
	"torno/sandbox/local"
)

// TestWithoutGVisor: whatever is missing is told of with the next step, before anything is made.
func TestWithoutGVisor(t *testing.T) {
	bin := t.TempDir()
	runsc := filepath.Join(bin, "runsc")
	if err := os.WriteFile(runsc, []byte("#!/bin/sh\necho something else\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	for name, c := range map[string]struct {
		settings         launcher.Settings
		says, code, next string
	}{
		"no runsc":     {launcher.Settings{"runsc": bin + "/none"}, "no such file", "no_runsc", "make build"},
		"no keeper":    {launcher.Settings{"runsc": runsc}, "there is no sandbox-keeper", "no_gvisor", "gvisor.keeper"},
		"wrong keeper": {launcher.Settings{"runsc": runsc, "keeper": bin}, "sandbox-keeper", "no_gvisor", "gvisor.keeper"},
	} {
		err := Kind.Reach(t.Context(), c.settings)
		e, ok := errors.AsType[*launcher.UnusableError](err)
		if !ok || !strings.Contains(e.Error(), c.says) || e.Code != c.code || !strings.Contains(e.Next, c.next) {
			t.Errorf("%s: %v", name, err)
		}
	}
	settings := launcher.Settings{"runsc": runsc, "keeper": runsc}
	if err := Kind.Reach(t.Context(), settings); err != nil {
		t.Fatal("what is there is not found:", err)
	}
	_, err := Kind.Open(t.Context(), launcher.Setting{
		Options: local.Options{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, Settings: settings,
	})
	if e, ok := errors.AsType[*launcher.UnusableError](err); !ok || !strings.Contains(e.Error(), "is not gVisor's runsc") {
		t.Errorf("another program is used: %v", err)
	}
}
