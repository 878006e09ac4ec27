package delegation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAStampIsFirmWhenItIsOld: no stamp is firm until the file system's clock is known, and a stamp that lies ahead is not old.
func TestAStampIsFirmWhenItIsOld(t *testing.T) {
	now := time.Now()
	for what, c := range map[string]struct {
		age, behind time.Duration
		firm        bool
	}{
		"just written":                       {0, 0, false},
		"within the grain":                   {Grain - 1, 0, false},
		"old":                                {Grain, 0, true},
		"ahead, because the clock went back": {-time.Hour, 0, false},
		"old by our clock alone":             {time.Minute, time.Minute, false},
		"old by both":                        {time.Minute + Grain, time.Minute, true},
		"a clock that is ahead of ours":      {Grain - 1, -time.Hour, false},
	} {
		d, stamp := new(Dir), Stamp{ChangeTime: now.Add(-c.age), ModTime: now.Add(-48 * time.Hour)}
		if d.firm(stamp, now) {
			t.Errorf("%s: firm, by a clock that nobody knows", what)
		}
		d.clock.note(c.behind)
		if got := d.firm(stamp, now); got != c.firm {
			t.Errorf("%s: firm is %t", what, got)
		}
	}
}

func TestPublishingTellsTheClock(t *testing.T) {
	d := openReadings(t)
	if _, known := d.clock.behind(); known {
		t.Error("it is known before anything was written")
	}
	if err := d.Publish(HeartbeatName, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if behind, known := d.clock.behind(); !known || behind > time.Minute {
		t.Errorf("the clock is %s behind ours, %t", behind, known)
	}
}

func openReadings(t *testing.T) *Dir {
	t.Helper()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestAReadingTellsContentsApart: bytes by their hash, and what is never opened by why it is not.
func TestAReadingTellsContentsApart(t *testing.T) {
	d := openReadings(t)
	path := filepath.Join(d.Path(), "request_a.json")
	seen := map[string]string{}
	for what, make := range map[string]func() error{
		"one":       func() error { return os.WriteFile(path, []byte("one"), 0o644) },
		"two":       func() error { return os.WriteFile(path, []byte("two"), 0o644) },
		"too big":   func() error { return os.WriteFile(path, []byte("three"), 0o644) },
		"link":      func() error { return os.Symlink("one", path) },
		"FIFO":      func() error { return unix.Mkfifo(path, 0o644) },
		"directory": func() error { return os.Mkdir(path, 0o755) },
		"empty":     func() error { return os.WriteFile(path, nil, 0o644) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		_, read, _ := d.ReadRequest("request_a.json", 4)
		_, again, _ := d.ReadRequest("request_a.json", 4)
		if !read.Same(again) || read.Stamp.Ino == 0 {
			t.Errorf("%s read twice is %+v and %+v", what, read, again)
		}
		if other, ok := seen[read.Content]; ok {
			t.Errorf("%s and %s have one content", what, other)
		}
		seen[read.Content] = what
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	_, read, err := d.ReadRequest("request_a.json", 4)
	if !errors.Is(err, fs.ErrNotExist) || read.Content != "" {
		t.Errorf("what is not there is read as %+v, %v", read, err)
	}
}

// TestWhatAStampTells: a young one tells nothing, and the time that a writer can set is not the only one.
func TestWhatAStampTells(t *testing.T) {
	now := time.Now()
	stamp := Stamp{Ino: 7, Size: 3, ModTime: now, ChangeTime: now}
	young, old, earlier := Reading{Stamp: stamp, Content: "x"}, Reading{Stamp: stamp, Content: "x", Firm: true}, Reading{Stamp: stamp}
	if young.Unchanged(stamp) || !old.Unchanged(stamp) || !earlier.Unchanged(stamp) {
		t.Error("an old stamp, and that of an earlier version, must be believed, and a young one not")
	}
	if earlier.Same(earlier) || !young.Same(old) || young.Same(Reading{Stamp: stamp, Content: "y"}) {
		t.Error("readings are the same that have one content")
	}
	touched := stamp
	touched.ChangeTime = now.Add(time.Hour)
	if old.Unchanged(touched) || earlier.Unchanged(touched) {
		t.Error("a file whose other time was set back passes for unchanged")
	}
}

// TestARequestThatIsRemovedDuringTheLook: a client removes its request while StillHolds looks at it. StillHolds reports that it is gone,
// and no error.
func TestARequestThatIsRemovedDuringTheLook(t *testing.T) {
	outbox := newOutbox(t)
	const name = "request_s1.json"
	for range 500 {
		if err := outbox.Publish(name, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		_, read, err := outbox.ReadRequest(name, 100)
		if err != nil {
			t.Fatal(err)
		}
		removed := make(chan error, 1)
		go func() { removed <- outbox.Remove(name) }()
		for holds := true; holds; {
			holds, err = outbox.StillHolds(name, read, 100)
		}
		if err := errors.Join(err, <-removed); err != nil {
			t.Fatal(err)
		}
	}
}
