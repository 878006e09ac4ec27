//go:build linux

package initproc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	dir := t.TempDir()
	a := &answer{path: "/ws/out/answer", root: open(t, dir), dir: "out", name: "answer"}
	for _, text := range []string{"one", "two", ""} {
		if warnings := a.moveAside(nil); len(warnings) > 0 {
			t.Fatal(warnings)
		}
		if _, err := os.Lstat(filepath.Join(dir, "out/answer")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the old answer is there: %v", err)
		}
		if err := a.publish([][]byte{[]byte(text), []byte("!")}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "out/answer")); err != nil || string(data) != text+"!" {
			t.Errorf("%q, %v", data, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out/answer.previous")); err != nil || string(data) != "two!" {
		t.Errorf("%q, %v", data, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "out")); len(entries) != 2 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestAnswerCannotBePublished(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "answer"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := &answer{path: "/ws/answer", root: open(t, dir), dir: ".", name: "answer"}
	if warnings := a.moveAside([]string{"earlier"}); len(warnings) != 2 || !strings.Contains(warnings[1], `"/ws/answer": a directory`) {
		t.Errorf("%q", warnings)
	}
	if err := a.publish(nil); err == nil {
		t.Error("a directory was replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d entries; the temporary file should be gone", len(entries))
	}
}
