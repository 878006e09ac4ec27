package sandboxtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

var lifecycleCases = []testCase{
	{"create runs nothing", createRunsNothing},
	{"create again returns what is there", createAgain},
	{"create with a cancelled context leaves nothing", createCancelled},
	{"create that is cancelled under way leaves nothing", createCancelledUnderWay},
	{"start again runs nothing again", startAgain},
	{"init holds until it is released", holdsUntilReleased},
	{"a release is one attachment's, once", releasedOnce},
	{"what is let go of in its hold never runs", abandonedHold},
	{"what was released is not attested any more", attestedInItsHold},
	{"two sandboxes have two slots", twoSlots},
	{"remove of what was created", removeCreated},
	{"remove of what runs", removeRunning},
	{"remove of what has ended", removeEnded},
	{"remove of what never was", removeUnknown},
	{"a demand that is not enforced is refused", demandRefused},
	{"a demand that is enforced is met", demandMet},
}

func createRunsNothing(b *bench) {
	id := sandbox.NewSandboxID()
	h, err := b.launcher.Create(b.ctx, id, b.spec("append", "ran", "once"))
	b.must(err)
	defer b.remove(h)
	if h.Launcher == "" || h.ID == "" || h.Sandbox != id || h.Slot < 0 {
		b.Errorf("an incomplete handle: %+v, the sandbox is %s", h, id)
	}
	if _, err := b.launcher.Create(b.ctx, "../"+id[3:], b.spec("exit", "0")); err == nil {
		b.Error("a sandbox was made of what is no id")
	}
	if seen := b.list(b.launcher)[h.Sandbox]; seen.State != sandbox.HandleCreated || seen.Exit != nil {
		b.Errorf("List shows %+v", seen)
	}
}

func createAgain(b *bench) {
	id, spec := sandbox.NewSandboxID(), b.spec("append", "ran", "once")
	first, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	defer b.remove(first)
	again := func(when string) {
		b.Helper()
		h, err := b.launcher.Create(b.ctx, id, spec)
		b.must(err)
		if !sameSandbox(h, first) {
			b.Errorf("create %s: got %+v, want %+v", when, h, first)
		}
	}
	again("before the start")
	b.must(b.launcher.Start(b.ctx, first))
	again("while it holds")
	b.exits(b.rest(b.release(first, spec)).exit, 0)
	again("after the end")
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

func sameSandbox(a, b sandbox.Handle) bool {
	return a.Launcher == b.Launcher && a.Site == b.Site && a.ID == b.ID && a.Sandbox == b.Sandbox && a.Slot == b.Slot
}

func createCancelled(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	id := sandbox.NewSandboxID()
	if h, err := b.launcher.Create(ctx, id, b.spec("exit", "0")); err == nil {
		b.remove(h)
		b.Error("Create does not look at its context")
	}
	b.absent(id)
}

// createCancelledUnderWay cancels Create later and later, until Create succeeds before it is cancelled.
func createCancelledUnderWay(b *bench) {
	for patience := 500 * time.Microsecond; ; patience *= 3 {
		id := sandbox.NewSandboxID()
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		h, err := b.launcher.Create(ctx, id, b.spec("exit", "0"))
		cancel()
		if err == nil {
			b.remove(h)
			return
		}
		if patience > caseTime {
			b.Fatalf("Create never succeeded: %v", err)
		}
		b.absent(id)
	}
}

// absent checks that no sandbox has the id.
func (b *bench) absent(id sandbox.SandboxID) {
	b.Helper()
	if h, there := b.list(b.launcher)[id]; there {
		b.remove(h)
		b.Errorf("a sandbox was left: %+v", h)
	}
}

func startAgain(b *bench) {
	spec := b.spec("append", "ran", "once")
	h := b.start(spec)
	b.must(b.launcher.Start(b.ctx, h))
	first := b.rest(b.release(h, spec))
	b.must(b.launcher.Start(b.ctx, h))
	second := b.finish(b.open(h, ""))
	if !first.started.Equal(second.started) || !first.exit.FinishedAt.Equal(second.exit.FinishedAt) {
		b.Errorf("it ran again: first %+v, then %+v", first.exit, second.exit)
	}
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

// holdsUntilReleased waits as long as another sandbox takes before it releases its own.
func holdsUntilReleased(b *bench) {
	spec := b.spec("append", "ran", "once")
	h := b.start(spec)
	a, seen := b.held(h)
	b.exits(b.runs(b.spec("lines", "3", "0.1")).exit, 0)
	if _, err := os.Stat(filepath.Join(b.home, "ran")); err == nil {
		b.Error("the agent ran before it was released")
	}
	if got := b.list(b.launcher)[h.Sandbox]; got.State != sandbox.HandleRunning {
		b.Errorf("List shows %+v", got)
	}
	b.must(a.Release(b.ctx))
	b.must(a.Input().Close())
	b.exits(b.rest(a, seen).exit, 0)
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

func releasedOnce(b *bench) {
	spec := b.spec("append", "ran", "once")
	h := b.start(spec)
	a, seen := b.held(h)
	other := b.open(h, "")
	if other.Holds() || !a.Holds() {
		b.Errorf("the second attachment says that it can give the word: %t, the first one: %t", other.Holds(), a.Holds())
	}
	if err := other.Release(b.ctx); !errors.Is(err, sandbox.ErrNotHeld) {
		b.Errorf("a second attachment releases: %v", err)
	}
	b.must(a.Release(b.ctx))
	if err := a.Release(b.ctx); !errors.Is(err, sandbox.ErrNotHeld) || a.Holds() {
		b.Errorf("released again: %v, and it can give the word: %t", err, a.Holds())
	}
	b.must(a.Input().Close())
	b.exits(b.rest(a, seen).exit, 0)
	if err := a.Release(b.ctx); !errors.Is(err, sandbox.ErrNotHeld) {
		b.Errorf("released after its end: %v", err)
	}
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
}

func abandonedHold(b *bench) {
	for _, lasting := range []bool{false, true} {
		spec := b.spec("append", "ran", "once")
		spec.Process.Stdin, spec.Process.Lasting = lasting, lasting
		b.abandons(b.start(spec))
	}
}

func (b *bench) abandons(h sandbox.Handle) {
	b.Helper()
	a, _ := b.held(h)
	b.must(a.Close())
	next := b.open(h, "")
	var seen transcript
	b.exits(b.end(next, &seen), runfile.AbandonedExit)
	b.same("stderr", seen.stderr, runfile.Holding)
	if _, err := os.Stat(filepath.Join(b.home, "ran")); err == nil {
		b.Error("the agent ran although nobody released it")
	}
}

func attestedInItsHold(b *bench) {
	h, a, seen := b.run(b.spec("exit", "0"))
	b.exits(b.rest(a, seen).exit, 0)
	if !b.check()[sandbox.Attested].Enforced {
		return
	}
	if attestation, err := b.launcher.Attest(b.ctx, h); err == nil {
		b.Errorf("a sandbox that has ended was attested: %+v", attestation)
	}
}

func twoSlots(b *bench) {
	one, two := b.create(b.spec("exit", "0")), b.create(b.spec("exit", "0"))
	if one.ID == two.ID || one.Slot == two.Slot {
		b.Errorf("%+v and %+v are to be two sandboxes", one, two)
	}
}

func removeCreated(b *bench) { b.goesAway(b.create(b.spec("sleep"))) }

func removeRunning(b *bench) {
	h, a, seen := b.run(b.spec("orphan", "beats", "1000000"))
	b.read(a, seen, seen.says("ready\n"))
	b.goesAway(h)
	b.read(a, seen, nil)
	if exit, err := a.Wait(b.ctx); err == nil && exit.Code != 137 || err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Wait on what was removed: %+v, %v", exit, err)
	}
	b.still("workspace/beats")
}

func removeEnded(b *bench) {
	h, a, seen := b.run(b.spec("exit", "0"))
	b.rest(a, seen)
	b.goesAway(h)
}

// goesAway removes a sandbox twice and checks that nothing is left of it.
func (b *bench) goesAway(h sandbox.Handle) {
	b.Helper()
	b.must(b.launcher.Remove(b.ctx, h))
	b.must(b.launcher.Remove(b.ctx, h))
	if seen, there := b.list(b.launcher)[h.Sandbox]; there {
		b.Errorf("List still shows %+v", seen)
	}
	if _, err := b.launcher.Open(b.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Open of what was removed: %v, want ErrNotFound", err)
	}
	if err := b.launcher.Start(b.ctx, h); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Start of what was removed: %v, want ErrNotFound", err)
	}
}

// still checks that no process writes to a file any more. It waits as long as another sandbox lives.
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
	h.ID, h.Sandbox = strings.Repeat("0", len(h.ID)), sandbox.SandboxID(strings.Repeat("0", len(h.Sandbox)))
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

// refused checks that Create refuses a spec with the code, and leaves no sandbox behind.
func (b *bench) refused(spec sandbox.Spec, code delegation.Code) {
	b.Helper()
	id := sandbox.NewSandboxID()
	h, err := b.launcher.Create(b.ctx, id, spec)
	if err == nil {
		b.remove(h)
	}
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		b.Errorf("Create: %v, want a refusal for %s", err, code)
	}
	b.absent(id)
}
