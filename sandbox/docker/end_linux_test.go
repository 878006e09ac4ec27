package docker_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"torno/internal/boot"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/test/wait"
)

// TestAnEndNeedsNoWordOfTheEngine: the engine never says that the sandbox has ended. Its output is whole all the same, its end is known,
// and it is listed as it ended.
func TestAnEndNeedsNoWordOfTheEngine(t *testing.T) {
	f, between := newFlakyField(t)
	if !f.Guarantees()[sandbox.Attested].Enforced {
		t.Skip("NOT SHOWN HERE: the engine's processes are not ours to see")
	}
	between.mu.Lock()
	between.mute = routes["wait"]
	between.mu.Unlock()
	forged := string(runfile.EndMark(strings.Repeat("A", runfile.TokenSize), runfile.End{Code: 254, Memory: runfile.MemoryHeld}))
	for name, c := range map[string]struct {
		script   string
		out, err string
		code     int
		memory   bool
	}{
		"nothing":        {"exit 0", "", "", 0, false},
		"a code":         {"echo out; echo err >&2; exit 3", "out\n", "err\n", 3, false},
		"no end of line": {"printf out; printf err >&2", "out", "err", 0, false},
		"254":            {"exit 254", "", "torno-init: the exit code 254 is reported as 253\n", 253, false},
		"a kill":         {"kill -KILL $$", "", "", 137, false},
		"orphans":        {"(sleep 1000000 &) ; echo out", "out\n", "", 0, false},
		"a mark of its own": {
			`for to in 1 2; do printf '\000torno-init 2 ended AAAAAAAAAAAAAAAAAAAAAAAAAA 254 0 0000000000000000000\n' >&$to; done; echo more; exit 5`, forged + "more\n", forged, 5, false,
		},
		"much":   {"head -c 3000000 /dev/zero; echo end", strings.Repeat("\x00", 3000000) + "end\n", "", 0, false},
		"memory": {"/usr/bin/tail /dev/zero; exit 0", "", "Killed\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := f.spec("/bin/sh", "-c", c.script)
			spec.Limits.Memory = 48 << 20
			f := &field{TB: t, Launcher: f.Launcher, house: f.house, base: f.base, calls: f.calls, ctx: t.Context()}
			h := f.create(spec)
			defer f.remove(h)
			a := f.start(h)
			late := time.AfterFunc(wait.Patience, func() { a.Close() })
			defer late.Stop()
			e := f.finish(a)
			said := string(e.stderr[strings.IndexByte(string(e.stderr), '\n')+1:]) // after the started line
			if string(e.stdout) != c.out || said != c.err || e.exit.Code != c.code || e.exit.OutOfMemory != c.memory || e.exit.Unknown {
				t.Errorf("%+v, stdout %.200q (%d bytes), stderr %.200q", e.exit, e.stdout, len(e.stdout), e.stderr)
			}
			if e.exit.FinishedAt.Before(e.exit.StartedAt) || e.exit.FinishedIn.IsZero() {
				t.Errorf("its times are %v, %v and %v", e.exit.StartedAt, e.exit.FinishedAt, e.exit.FinishedIn)
			}
			all, err := f.List(f.ctx)
			f.must(err)
			if len(all) != 1 || all[0].State != sandbox.HandleExited || all[0].Exit.Code != c.code {
				t.Errorf("it is listed as %+v", all)
			}
		})
	}
}

// TestAnEndHasItsOwnTime, however late the host comes to look: it may have stood still since. A run that ended in time would count as one
// that did not.
func TestAnEndHasItsOwnTime(t *testing.T) {
	f, between := newFlakyField(t)
	if !f.Guarantees()[sandbox.Attested].Enforced {
		t.Skip("NOT SHOWN HERE: the engine's processes are not ours to see")
	}
	between.mu.Lock()
	between.mute = routes["wait"]
	between.mu.Unlock()
	h := f.create(f.spec("/usr/bin/head", "-c", "800000", "/dev/zero"))
	defer f.remove(h)
	a := f.start(h) // the test reads later: until then the mark waits behind output that the engine holds
	wait.Until(t, "it has ended", func() bool {
		all, err := f.List(f.ctx)
		f.must(err)
		return len(all) == 1 && all[0].State == sandbox.HandleExited
	})
	looks := boot.Now()
	if e := f.finish(a); e.exit.FinishedIn.IsZero() || e.exit.FinishedIn.Up > looks.Up {
		t.Errorf("it ended at %v, and had ended at %v", e.exit.FinishedIn, looks)
	}
}

// TestTheMarkIsNotInTheOutput that is read from the engine's log, wherever the log cuts it.
func TestTheMarkIsNotInTheOutput(t *testing.T) {
	f := newField(t, "")
	for _, size := range []int{0, 5, 16384 - 80, 16384 - 60, 16384 - 30, 16384 - 1, 16384} {
		spec := f.spec("/bin/sh", "-c", `head -c "$0" /dev/zero | tr "\\0" a`, strconv.Itoa(size))
		h := f.create(spec)
		first := f.finish(f.start(h))
		again, err := f.Open(f.ctx, h, "")
		f.must(err)
		whole := f.finish(again)
		if string(first.stdout) != strings.Repeat("a", size) || string(whole.stdout) != string(first.stdout) {
			t.Errorf("of %d bytes came %d, and the log has %d", size, len(first.stdout), len(whole.stdout))
		}
		if string(whole.stderr) != runfile.Holding+string(first.stderr) {
			t.Errorf("the log says %q", whole.stderr)
		}
		f.must(again.Close())
		f.remove(h)
	}
}
