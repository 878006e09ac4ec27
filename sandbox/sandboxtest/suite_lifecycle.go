package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

var lifecycleCases = []testCase{
	{"create runs nothing", createRunsNothing},
	{"create again returns what is there", createAgain},
	{"create with a cancelled context leaves nothing", createCancelled},
	{"create that is cancelled under way leaves nothing", createCancelledUnderWay},
	{"start again runs nothing again", startAgain},
	{"two sandboxes have two slots", twoSlots},
	{"remove of what was created", removeCreated},
	{"remove of what runs", removeRunning},
	{"remove of what has ended", removeEnded},
	{"remove of what never was", removeUnknown},
	{"a demand that is not enforced is refused", demandRefused},
	{"a demand that is enforced is met", demandMet},
}

func createRunsNothing(b *bench) {
	key := b.key()
	h, err := b.launcher.Create(b.ctx, key, b.spec("append", "ran", "once"))
	b.must(err)
	defer b.remove(h)
	if h.Launcher == "" || h.ID == "" || h.Key != key.Hash() || h.Slot < 0 {
		b.Errorf("an incomplete handle: %+v, the key's hash is %s", h, key.Hash())
	}
	if seen := b.list(b.launcher)[h.Key]; seen.State != sandbox.HandleCreated || seen.Exit != nil {
		b.Errorf("List shows %+v", seen)
	}
}

func createAgain(b *bench) {
	key, spec := b.key(), b.spec("append", "ran", "once")
	first, err := b.launcher.Create(b.ctx, key, spec)
	b.must(err)
	defer b.remove(first)
	again := func(when string) {
		b.Helper()
		h, err := b.launcher.Create(b.ctx, key, spec)
		b.must(err)
		if !sameSandbox(h, first) {
			b.Errorf("create %s: got %+v, want %+v", when, h, first)
		}
	}
	again("before the start")
	b.must(b.launcher.Start(b.ctx, first))
	again("while it runs")
	b.exits(b.finish(b.open(first, "")).exit, 0)
	again("after the end")
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

func sameSandbox(a, b sandbox.Handle) bool {
	return a.Launcher == b.Launcher && a.ID == b.ID && a.Key == b.Key && a.Slot == b.Slot
}

func createCancelled(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	key := b.key()
	if h, err := b.launcher.Create(ctx, key, b.spec("exit", "0")); err == nil {
		b.remove(h)
		b.Error("Create does not look at its context")
	}
	b.absent(key)
}

// createCancelledUnderWay cancels at moments that lie ever later, until one is too late.
func createCancelledUnderWay(b *bench) {
	for patience := 500 * time.Microsecond; ; patience *= 3 {
		key := b.key()
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		h, err := b.launcher.Create(ctx, key, b.spec("exit", "0"))
		cancel()
		if err == nil {
			b.remove(h)
			return
		}
		if patience > caseTime {
			b.Fatalf("Create never succeeded: %v", err)
		}
		b.absent(key)
	}
}

// absent checks that there is no sandbox of a key.
func (b *bench) absent(key sandbox.RunKey) {
	b.Helper()
	if h, there := b.list(b.launcher)[key.Hash()]; there {
		b.remove(h)
		b.Errorf("a sandbox was left: %+v", h)
	}
}

func startAgain(b *bench) {
	h := b.start(b.spec("append", "ran", "once"))
	b.must(b.launcher.Start(b.ctx, h))
	first := b.finish(b.open(h, ""))
	b.must(b.launcher.Start(b.ctx, h))
	second := b.finish(b.open(h, ""))
	if !first.started.Equal(second.started) || !first.exit.FinishedAt.Equal(second.exit.FinishedAt) {
		b.Errorf("it ran again: first %+v, then %+v", first.exit, second.exit)
	}
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

func twoSlots(b *bench) {
	one, two := b.create(b.spec("exit", "0")), b.create(b.spec("exit", "0"))
	if one.ID == two.ID || one.Slot == two.Slot {
		b.Errorf("%+v and %+v are to be two sandboxes", one, two)
	}
}

func removeCreated(b *bench) { b.goesAway(b.create(b.spec("sleep"))) }

func removeRunning(b *bench) {
	h := b.start(b.spec("orphan", "beats", "1000000"))
	a := b.open(h, "")
	var seen transcript
	b.read(a, &seen, seen.says("ready\n"))
	b.goesAway(h)
	b.read(a, &seen, nil)
	if exit, err := a.Wait(b.ctx); err == nil && exit.Code != 137 || err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Wait on what was removed: %+v, %v", exit, err)
	}
	b.still("workspace/beats")
}

func removeEnded(b *bench) {
	h := b.start(b.spec("exit", "0"))
	b.finish(b.open(h, ""))
	b.goesAway(h)
}

// goesAway removes a sandbox twice and looks for what is left of it.
func (b *bench) goesAway(h sandbox.Handle) {
	b.Helper()
	b.must(b.launcher.Remove(b.ctx, h))
	b.must(b.launcher.Remove(b.ctx, h))
	if seen, there := b.list(b.launcher)[h.Key]; there {
		b.Errorf("List still shows %+v", seen)
	}
	if _, err := b.launcher.Open(b.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Open of what was removed: %v, want ErrNotFound", err)
	}
	if err := b.launcher.Start(b.ctx, h); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Start of what was removed: %v, want ErrNotFound", err)
	}
}

// still checks that nobody writes to a file any more. The time in which somebody could is that of another sandbox.
func (b *bench) still(rel string) {
	b.Helper()
	before := len(b.get(rel))
	b.exits(b.runs(b.spec("lines", "5", "0.1")).exit, 0)
	if after := len(b.get(rel)); before == 0 || after != before {
		b.Errorf("%s had %d bytes and now has %d: a process outlived its sandbox, or never lived", rel, before, after)
	}
}

func removeUnknown(b *bench) {
	h := b.create(b.spec("exit", "0"))
	h.ID, h.Key = strings.Repeat("0", len(h.ID)), strings.Repeat("0", len(h.Key))
	b.must(b.launcher.Remove(b.ctx, h))
	if _, err := b.launcher.Open(b.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Open of what never was: %v, want ErrNotFound", err)
	}
}

func demandRefused(b *bench) {
	missing := b.check().Missing(sandbox.GuaranteeKeys)
	if len(missing) == 0 {
		missing = []sandbox.GuaranteeKey{"a_guarantee_of_tomorrow"}
	}
	spec := b.spec("exit", "0")
	spec.AtLeast = missing[:1]
	b.refused(spec, delegation.CodeNotEnforced)
}

func demandMet(b *bench) {
	spec := b.spec("exit", "0")
	for key, guarantee := range b.check() {
		if guarantee.By == "" {
			b.Errorf("nothing is said of by what %s is enforced, or why not", key)
		}
		if guarantee.Enforced {
			spec.AtLeast = append(spec.AtLeast, key)
		}
	}
	b.exits(b.runs(spec).exit, 0)
}

func (b *bench) check() sandbox.Guarantees {
	b.Helper()
	g, err := b.launcher.Check(b.ctx)
	b.must(err)
	return g
}

// refused checks that Create turns a spec down for the code, and keeps nothing of it.
func (b *bench) refused(spec sandbox.Spec, code delegation.Code) {
	b.Helper()
	key := b.key()
	h, err := b.launcher.Create(b.ctx, key, spec)
	if err == nil {
		b.remove(h)
	}
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		b.Errorf("Create: %v, want a refusal for %s", err, code)
	}
	b.absent(key)
}
