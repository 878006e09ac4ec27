package runsc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standIn writes a shell script that plays runsc.
func standIn(t *testing.T, dir, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	mode(t, path, 0o755)
	return path
}

func mode(t *testing.T, path string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

func dir(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustFail checks the error, and that it says what, about which thing, and what to do next.
func mustFail(t *testing.T, err error, reason Reason, texts ...string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != reason {
		t.Fatalf("the error is %v, want one with the reason %s", err, reason)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q, without %q", err, text)
		}
	}
	if !strings.Contains(e.Next(), "gvisor.runsc") {
		t.Errorf("the next step is %q", e.Next())
	}
}
