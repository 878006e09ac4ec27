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
		again := delegation.Stamp{Ino: r.Stamp.Ino + 1<<63, ModTime: time.Unix(5, 6), ChangeTime: time.Unix(7, 8), Size: 9}
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
		if known, ok, err := j.ByFile(ctx, "main", r.FileName, again); err != nil || !ok || known.Key != r.Key || known.State != at {
			t.Errorf("%s: the new file is %+v, %v, %v", at, known, ok, err)
		}
		if _, ok, err := j.ByFile(ctx, "main", r.FileName, r.Stamp); err != nil || ok {
			t.Errorf("%s: the old file is still known: %v", at, err)
		}
	}
	if err := j.Refile(ctx, "none", delegation.Stamp{}, true); !errors.Is(err, ErrUnknown) {
		t.Errorf("a run that nobody knows: %v", err)
	}
}
