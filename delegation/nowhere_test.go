package delegation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNowhere: what stands for an outbox that cannot be opened holds nothing, takes nothing and never becomes the outbox.
func TestNowhere(t *testing.T) {
	state, path := t.TempDir(), filepath.Join(t.TempDir(), "outbox")
	for range 2 {
		d, err := OpenNowhere(path, state, fs.ErrPermission)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := d.Alive(); !errors.Is(err, ErrMoved) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it is alive: %v", err)
		}
		if err := d.Publish("response_a.json", []byte("{}")); err == nil {
			t.Error("something was published")
		}
		if err := d.Names(t.Context(), 8, func(names []string) error { t.Errorf("it holds %v", names); return nil }); err == nil {
			t.Error("it can be listed")
		}
		if again, err := d.Reopen(); err != nil {
			t.Errorf("it cannot be opened again: %v", err)
		} else {
			again.Close()
		}
		if d.Path() != path || !errors.Is(d.Why(), fs.ErrPermission) {
			t.Errorf("it stands for %s, because of %v", d.Path(), d.Why())
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{path, state} {
		if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
			t.Errorf("%s has %v, %v", dir, found, err)
		}
	}
}
