package gvisor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torno/sandbox"
	"torno/sandbox/gvisor"
)

// TestWhatSandboxesShareGoesWithTheLastOfThem puts the directories of an earlier program and of earlier settings beside the ones of
// today. They stay while a sandbox has them in it, whichever watcher made that, and while there is one that does not say what it
// has; and then they go.
func TestWhatSandboxesShareGoesWithTheLastOfThem(t *testing.T) {
	y := newYard(t)
	dir := filepath.Join(y.options.StateDir, gvisor.Name)
	shared := func() (names []string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if name := entry.Name(); len(name) > 5 && (name[:4] == "etc-" || name[:5] == "init-" || name[0] == '.') {
				names = append(names, name)
			}
		}
		return names
	}
	own := shared()
	if len(own) != 2 {
		t.Fatalf("a launcher has %q", own)
	}
	const etc, init = "etc-0123456789abcdef", "init-0123456789abcdef"
	const kept, torn = "etc-of-the-operator", ".dropped-etc-fedcba9876543210" // another's; and what a kill has left
	put := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(dir, name, "in"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(etc, init, kept, torn)
	old, mute := y.sleeper(), y.sleeper()
	note := func(h sandbox.Handle, names ...string) {
		t.Helper()
		file := filepath.Join(y.box(h.ID), "box.json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		record := map[string]any{}
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		if has := fmt.Sprint(record["shared"]); has != fmt.Sprint([]string{own[1], own[0]}) {
			t.Errorf("its record names %s, and it has %q in it", has, own)
		}
		record["shared"] = names
		if text, err = json.Marshal(record); err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	note(old, etc)
	note(mute)
	has := func(when string, want ...string) {
		t.Helper()
		y.again()
		want = append(want, own...)
		slices.Sort(want)
		if got := shared(); !slices.Equal(got, want) {
			t.Errorf("%s there are %q, want %q", when, got, want)
		}
	}
	has("while a sandbox does not say what it has", etc, init, kept, torn)
	if err := y.Remove(t.Context(), mute); err != nil {
		t.Fatal(err)
	}
	has("while a sandbox has one of them", etc, kept)
	if found, ok := y.listed(old); !ok || found.State != sandbox.HandleRunning {
		t.Errorf("it is %+v", found)
	}
	if err := y.Remove(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	has("after the last of them", kept)
}
