package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
)

// died is what a watcher leaves that was killed: the files of a journal in use, copied away under it.
func died(t *testing.T) (path string, runs []Run) {
	t.Helper()
	from := state(t)
	j := open4test(t, from)
	for _, id := range []string{"r1", "r2", "r3", "r4", "r5", "r6"} {
		runs = append(runs, begin(t, j, queued(t, "main", "a", id)))
		bring(t, j, runs[len(runs)-1].Key, delegation.StateStarting)
	}
	path = state(t)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, suffix := range []string{"", "-wal", markSuffix} {
		must(t, os.WriteFile(path+suffix, read(t, from+suffix), 0o600))
	}
	return path, runs
}

func TestAfterADeathAllIsThere(t *testing.T) {
	path, runs := died(t)
	j := open4test(t, path)
	for _, r := range runs {
		if got := get(t, j, r.Key).State; got != delegation.StateStarting {
			t.Errorf("%s is %s", r.Key, got)
		}
	}
}

// TestWhatWasLostIsSaid takes away a part of what a killed watcher left. SQLite itself would open each of these
// and know less than was reported as done; the last lines show that.
func TestWhatWasLostIsSaid(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"the log is gone":              func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) },
		"the file is gone":             func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"the file and its log is gone": func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Remove(path+"-wal")) },
	} {
		t.Run(name, func(t *testing.T) {
			path, runs := died(t)
			spoil(t, path)
			before := files(t, path)
			_, err := Open(context.Background(), path)
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Open = %v, want ErrCorrupt", err)
			}
			if after := files(t, path); !bytes.Equal(before, after) {
				t.Error("the files were changed")
			}
			must(t, os.Remove(path+markSuffix))
			if knowsAll(path, runs) {
				t.Error("nothing was lost, so there was nothing to say")
			}
		})
	}
}

// knowsAll opens a journal without our checks.
func knowsAll(path string, runs []Run) bool {
	j, err := open(context.Background(), path, false)
	if err != nil {
		return false
	}
	defer j.Close()
	for _, r := range runs {
		if got, err := j.Get(context.Background(), r.Key); err != nil || got.State != delegation.StateStarting {
			return false
		}
	}
	return true
}

// files are the bytes of a journal's files, one after the other.
func files(t *testing.T, path string) (all []byte) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", markSuffix} {
		b, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(binary.AppendVarint(all, int64(len(b))), b...)
	}
	return all
}

// TestWhatAPowerCutTakesIsFine cuts the log off and tears its last transaction: that one was never reported as done.
func TestWhatAPowerCutTakesIsFine(t *testing.T) {
	const frame = 24 + 4096 // what SQLite writes of a page
	for name, cut := range map[string]func(b []byte) []byte{
		"nothing":                     func(b []byte) []byte { return b },
		"half of the last page":       func(b []byte) []byte { return b[:len(b)-2000] },
		"the last page":               func(b []byte) []byte { return b[:len(b)-frame] },
		"the last page is not there":  func(b []byte) []byte { clear(b[len(b)-4096:]); return b },
		"the page before is torn":     func(b []byte) []byte { clear(b[len(b)-frame-2048 : len(b)-frame]); return b },
		"the log was never written":   func(b []byte) []byte { return b[:0] },
		"only zeroes reached the log": func(b []byte) []byte { clear(b); return b },
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := died(t)
			must(t, os.WriteFile(path+"-wal", cut(read(t, path+"-wal")), 0o600))
			j := open4test(t, path)
			begin(t, j, queued(t, "main", "b", "new"))
		})
	}
}

// TestAnOpenThatFailsLosesNoLog has a journal that a killed watcher left and that lacks something. SQLite
// folds the log into the file and removes it when the failed Open ends; that must not look like a log that was taken away.
func TestAnOpenThatFailsLosesNoLog(t *testing.T) {
	path, runs := died(t)
	tamper(t, path, `ALTER TABLE workspaces DROP COLUMN base`) // folds the log into the file
	must(t, os.WriteFile(path+"-wal", nil, 0o600))             // as it was while the watcher ran
	for range 2 {
		if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "no such column: base") && !strings.Contains(err.Error(), "no column named base") {
			t.Fatalf("Open = %v, want the error of a column that is missing", err)
		}
	}
	tamper(t, path, `ALTER TABLE workspaces ADD COLUMN base INTEGER NOT NULL DEFAULT 0`)
	if !knowsAll(path, runs) {
		t.Error("runs are missing")
	}
}

// TestFlippedBits flips bits all over a closed journal. Whatever is then said of it is what to do, or nothing was hit
// that anybody reads; and a journal that does not open is as it was.
func TestFlippedBits(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	ctx := context.Background()
	from := state(t)
	j := first(Open(ctx, from))
	r := begin(t, j, full(t))
	multiply(t, j, 60)
	must(t, j.Close())
	sound, noticed := read(t, from), 0
	for at := 0; at < len(sound); at += 211 {
		path := state(t)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		b := bytes.Clone(sound)
		b[at] ^= 1 << (at % 8)
		must(t, os.WriteFile(path, b, 0o600))
		j, err := OpenReadOnly(ctx, path)
		if err != nil {
			j, err = Open(ctx, path)
		}
		if err != nil {
			if !bytes.Equal(b, read(t, path)) {
				t.Errorf("byte %d: the file was changed", at)
			}
		} else {
			_, err = j.List(ctx, Query{})
			if err == nil {
				_, err = j.Get(ctx, r.Key)
			}
			must(t, j.Close())
		}
		if err == nil || errors.Is(err, ErrUnknown) {
			continue
		}
		noticed++
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) && !errors.Is(err, ErrOlder) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if noticed < 10 {
		t.Errorf("only %d of the flipped bits were noticed", noticed)
	}
}
