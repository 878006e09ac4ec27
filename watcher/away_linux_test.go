package watcher

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/attack"
)

// absence is a way for an outbox to go away while it is served, and to come back. real is where the directory is
// meanwhile, "" where nowhere.
type absence struct {
	row      string
	mount    bool // it needs the right to
	own      bool // nothing of others is at the path meanwhile
	prepare  func(d *desk)
	leave    func(d *desk) (real string)
	comeBack func(d *desk)
	looks    *atomic.Int64 // for the outbox at its path: each asks for its lock
}

func (c absence) look() error {
	c.looks.Add(1)
	return nil
}

// bait is a directory in which a request waits for a watcher that looks there.
func (d *desk) bait(dir string) string {
	d.Helper()
	d.must(os.MkdirAll(filepath.Join(dir, "workspaces"), 0o755))
	d.submit(ask{id: "bait", task: "echo bait", outbox: dir})
	return dir
}

func moveAway(d *desk) string {
	d.must(os.Rename(d.outbox, d.outbox+".real"))
	return d.outbox + ".real"
}

func moveBack(d *desk) {
	d.must(errors.Join(os.RemoveAll(d.outbox), os.Rename(d.outbox+".real", d.outbox)))
}

// onItsOwn mounts a file system at the outbox, and keeps another name of it.
func onItsOwn(d *desk) {
	d.bait(d.outbox)
	d.remove(delegation.HeartbeatName)
	for _, dir := range []string{d.outbox, d.outbox + ".kept"} {
		d.must(os.MkdirAll(dir, 0o755))
	}
	d.must(unix.Mount("torno-test", d.outbox, "tmpfs", 0, "size=4m"))
	d.must(unix.Mount(d.outbox, d.outbox+".kept", "", unix.MS_BIND, ""))
	d.must(os.Mkdir(filepath.Join(d.outbox, "workspaces"), 0o755))
	d.Cleanup(func() {
		for _, dir := range []string{d.outbox, d.outbox + ".kept"} {
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
}

var absences = map[string]absence{
	"moved": {row: "O24", own: true, leave: moveAway, comeBack: moveBack},
	"replaced by a link": {row: "O23", comeBack: moveBack, leave: func(d *desk) string {
		real := moveAway(d)
		d.must(os.Symlink(d.bait(d.outbox+".bait"), d.outbox))
		return real
	}},
	"replaced by a directory": {row: "O23", comeBack: moveBack, leave: func(d *desk) string {
		real := moveAway(d)
		d.bait(d.outbox)
		return real
	}},
	"unmounted": {
		row: "O24", mount: true, prepare: onItsOwn,
		leave: func(d *desk) string {
			d.must(unix.Unmount(d.outbox, unix.MNT_DETACH))
			return d.outbox + ".kept"
		},
		comeBack: func(d *desk) { d.must(unix.Mount(d.outbox+".kept", d.outbox, "", unix.MS_BIND, "")) },
	},
	"mounted over": {
		row: "O24", mount: true,
		leave: func(d *desk) string {
			d.must(unix.Mount("torno-test", d.outbox, "tmpfs", 0, "size=4m"))
			d.Cleanup(func() { unix.Unmount(d.outbox, unix.MNT_DETACH) })
			d.bait(d.outbox)
			return ""
		},
		comeBack: func(d *desk) { d.must(unix.Unmount(d.outbox, unix.MNT_DETACH)) },
	},
	"made read-only": {
		row: "O24", mount: true, own: true, prepare: onItsOwn,
		leave: func(d *desk) string {
			// It is busy while a file is open for writing in it, and the watcher writes now and then.
			d.eventually("the outbox can be made read-only", func() bool {
				err := unix.Mount("", d.outbox, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
				if err != unix.EBUSY {
					d.must(err)
				}
				return err == nil
			})
			return d.outbox + ".kept"
		},
		comeBack: func(d *desk) { d.must(unix.Mount("", d.outbox, "", unix.MS_REMOUNT|unix.MS_BIND, "")) },
	},
}

// TestTheOutboxGoesAway while it is served. It is noticed and said once; what lies at its path meanwhile is left alone,
// what lies in the real one is not taken in; and when it is back it is served as if nothing had been. The oracle goes by
// the path, and writes elsewhere.
func TestTheOutboxGoesAway(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	trials := map[string]*attack.Trial{"O23": {Row: "O23", Where: "fake"}, "O24": {Row: "O24", Where: "fake"}}
	for name, c := range absences {
		if c.mount && os.Geteuid() != 0 {
			t.Logf("NOT SHOWN HERE: only root may mount (%s)", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			trial := trials[c.row]
			trial.Tried++
			byPath := c.goes(t)
			trial.Oracle = trial.Oracle || byPath
			if !t.Failed() {
				trial.Held++
			}
		})
	}
	for _, trial := range trials {
		attack.Record(t, *trial)
	}
}

// TestAnOutboxThatGoesWhileTheWatcherStarts (H26): its parent moves it away when it is open and not yet watched. The watcher serves the
// others, and this one when it is back.
func TestAnOutboxThatGoesWhileTheWatcherStarts(t *testing.T) {
	said := &notebook{}
	var d *desk
	var leaves atomic.Bool
	d = newLoneDesk(t, func(config *Config) {
		config.Log = slog.New(slog.NewTextHandler(said, nil))
		config.Outboxes[0].Lock = func() error {
			if leaves.CompareAndSwap(true, false) {
				moveAway(d)
			}
			return nil
		}
	})
	d.response(d.submit(ask{id: "before", task: "echo before"}))
	d.stop()
	leaves.Store(true)
	d.open()
	d.eventually("the absence is noticed", func() bool { return said.count("is not served until") == 1 })
	moveBack(d)
	d.want(d.response(d.submit(ask{id: "after", task: "echo after"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// goes says whether who goes by the path writes elsewhere meanwhile.
func (c absence) goes(t *testing.T) (byPath bool) {
	said := &notebook{}
	c.looks = new(atomic.Int64)
	d := newLoneDesk(t, func(config *Config) {
		config.Log = slog.New(slog.NewTextHandler(said, nil))
		config.Outboxes[0].Lock = c.look
	})
	if c.prepare != nil {
		d.restartOn(c.prepare)
	}
	d.response(d.submit(ask{id: "before", task: "echo before"}))
	warned := said.count("level=WARN") // of how the desk was prepared
	real := c.leave(d)
	const away = "is not served until"
	d.eventually("the absence is noticed", func() bool { return said.count(away) == 1 })
	status, err := (&Operator{Journal: d.journal, Watcher: d.watcher}).Status(t.Context())
	d.must(err)
	if status.Outboxes[0].Trouble == "" {
		t.Error("the status does not say it")
	}
	if real != "" {
		d.submit(ask{id: "during", task: "echo during", outbox: real, workspace: "workspaces/before"})
	}
	d.nothingHappens(c, real)
	// A file that was about to be written when the outbox went may have met it first, and says so once.
	if errors, warnings := said.count("level=ERROR"), said.count("level=WARN")-warned; errors != 1 || warnings > 1 {
		t.Errorf("%d errors and %d warnings about one absence:\n%s", errors, warnings, &said.text)
	}
	os.MkdirAll(d.outbox, 0o755)
	byPath = os.WriteFile(filepath.Join(d.outbox, "by path"), nil, 0o644) == nil
	c.comeBack(d)
	d.eventually("it is served again", func() bool { return said.count("is served again") == 1 })
	if real != "" {
		d.response(ask{id: "during"})
	}
	d.want(d.response(d.submit(ask{id: "after", task: "echo after"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	return byPath
}

// restartOn starts a first watcher on an outbox that was changed: one that knew the outbox would wait for the directory that it had.
func (d *desk) restartOn(change func(*desk)) {
	d.Helper()
	d.stop()
	change(d)
	d.must(os.RemoveAll(d.state))
	d.config.Notes = d.notes()
	before := d.config.Outboxes[0]
	d.config.Outboxes[0] = d.settings(before.Policy.Outbox, before.Policy.Dir)
	d.config.Outboxes[0].Lock = before.Lock
	d.open()
}

// nothingHappens for longer than two listings take, and the outbox is looked for now and then, not again and again. Load
// can only make the looks fewer.
func (d *desk) nothingHappens(c absence, real string) {
	d.Helper()
	forbidden := []string{filepath.Join(real, "response_during.json"), filepath.Join(real, "status_during.json")}
	if !c.own {
		for _, name := range []string{"response_bait.json", "status_bait.json", delegation.HeartbeatName} {
			forbidden = append(forbidden, filepath.Join(d.outbox, name))
		}
	}
	written := func() string {
		for _, file := range forbidden {
			if _, err := os.Lstat(file); err == nil {
				return file
			}
		}
		return ""
	}
	const often = 50 * time.Millisecond
	begin, before := time.Now(), c.looks.Load()
	for time.Since(begin) < 2200*time.Millisecond && written() == "" {
		time.Sleep(20 * time.Millisecond)
	}
	if file := written(); file != "" {
		d.Errorf("%s was written", file)
	}
	looks := c.looks.Load() - before
	if most := int64(time.Since(begin) / often); looks == 0 || looks > most {
		d.Errorf("the outbox was looked for %d times, want 1 to %d", looks, most)
	}
}
