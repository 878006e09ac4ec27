package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"torno/delegation"
)

func TestRefile(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, at := range allStates {
		r := begin(t, j, queued(t, "main", "a", string(at)))
		bring(t, j, r.Key, at)
		file := delegation.Stamp{Ino: r.Stamp.Ino + 1<<63, ModTime: time.Unix(5, 6), ChangeTime: time.Unix(7, 8), Size: 9}
		again := delegation.Reading{Stamp: file, Content: "\xffcontent", Firm: true}
		ended := at == delegation.StateEnded
		if err := j.Refile(ctx, r.Key, again, !ended); !errors.Is(err, ErrMoved) {
			t.Errorf("%s, and the caller believes otherwise: %v", at, err)
		}
		if known, ok, err := j.ByFile(ctx, "main", r.FileName, r.Stamp); err != nil || !ok || known.Key != r.Key {
			t.Errorf("%s: a refused change changed something: %v, %v", at, ok, err)
		}
		if err := j.Refile(ctx, r.Key, again, ended); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if known, ok, err := j.ByFile(ctx, "main", r.FileName, file); err != nil || !ok || known.Key != r.Key || known.State != at || !known.Reading().Same(again) || !known.Firm {
			t.Errorf("%s: the new file is %+v, %v, %v", at, known, ok, err)
		}
		if _, ok, err := j.ByFile(ctx, "main", r.FileName, r.Stamp); err != nil || ok {
			t.Errorf("%s: the old file is still known: %v", at, err)
		}
	}
	if err := j.Refile(ctx, "none", delegation.Reading{}, true); !errors.Is(err, ErrUnknown) {
		t.Errorf("a run that nobody knows: %v", err)
	}
}

// TestRequestsThatShareAStamp: their files were written in one moment. The one that was read again when that was over is the one
// that is there for good.
func TestRequestsThatShareAStamp(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	first, second := queued(t, "main", "a", "r1"), queued(t, "main", "a", "r2")
	first.Content, second.Content, second.Stamp, second.FileName = "one", "two", first.Stamp, first.FileName
	begin(t, j, first)
	begin(t, j, second)
	find := func() string {
		t.Helper()
		known, ok, err := j.ByFile(ctx, "main", first.FileName, first.Stamp)
		must(t, err)
		if !ok {
			t.Fatal("the file is not known")
		}
		return known.Content
	}
	if got := find(); got != "two" {
		t.Errorf("found %q, want the newest", got)
	}
	read := first.Reading()
	read.Firm = true
	must(t, j.Refile(ctx, first.Key, read, false))
	if got := find(); got != "one" {
		t.Errorf("found %q, want the one that was read when its stamp was old", got)
	}
}
