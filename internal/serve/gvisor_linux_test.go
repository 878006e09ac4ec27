package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/configs"
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
		config     configs.GVisor
		says, next string
	}{
		"no runsc":     {configs.GVisor{Runsc: bin + "/none"}, "no such file", "make build"},
		"no keeper":    {configs.GVisor{Runsc: runsc}, "there is no sandbox-keeper", "gvisor.keeper"},
		"wrong keeper": {configs.GVisor{Runsc: runsc, Keeper: bin}, "sandbox-keeper", "gvisor.keeper"},
	} {
		err := reachGVisor(t.Context(), configs.Config{GVisor: c.config})
		e, ok := errors.AsType[*NoGVisorError](err)
		if !ok || !strings.Contains(e.Error(), c.says) || !strings.Contains(e.Next(), c.next) {
			t.Errorf("%s: %v", name, err)
		}
	}
	config := configs.Config{GVisor: configs.GVisor{Runsc: runsc, Keeper: runsc}}
	if err := reachGVisor(t.Context(), config); err != nil {
		t.Fatal("what is there is not found:", err)
	}
	_, err := openGVisor(t.Context(), Setting{Config: config, StateDir: t.TempDir(), Log: quiet})
	if e, ok := errors.AsType[*NoGVisorError](err); !ok || !strings.Contains(e.Error(), "is not gVisor's runsc") {
		t.Errorf("another program is used: %v", err)
	}
}
