package sandboxtest

import (
	"errors"

	"torno/sandbox"
)

var engineCases = []testCase{
	{"every handle names its engine", handlesNameTheirEngine},
	{"the next launcher has the same engine", nextHasTheSameEngine},
	{"what another engine has is not gone", othersAreNotGone},
}

// engineOf asks a launcher for its engine.
func (b *bench) engineOf(l sandbox.Launcher) string {
	b.Helper()
	id, err := l.Engine(b.ctx)
	b.must(err)
	if id == "" {
		b.Error("the launcher has an engine without an id")
	}
	return id
}

func handlesNameTheirEngine(b *bench) {
	engine := b.engineOf(b.launcher)
	if again := b.engineOf(b.launcher); again != engine {
		b.Errorf("the engine is %q, and then %q", engine, again)
	}
	id, spec := sandbox.NewSandboxID(), b.spec("exit", "0")
	made, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	defer b.remove(made)
	again, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	for where, h := range map[string]sandbox.Handle{"Create": made, "Create again": again, "List": b.list(b.launcher)[id]} {
		if h.Engine != engine {
			b.Errorf("the handle of %s names engine %q, want %q", where, h.Engine, engine)
		}
	}
}

func nextHasTheSameEngine(b *bench) {
	b.alone()
	engine := b.engineOf(b.launcher)
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), b.spec("exit", "0"))
	b.must(err)
	b.crash()
	if next := b.engineOf(b.launcher); next != engine {
		b.Errorf("the engine was %q, and is %q for the next launcher", engine, next)
	}
	if seen := b.list(b.launcher)[h.Sandbox]; seen.Engine != engine {
		b.Errorf("the next launcher lists %+v, want engine %q", seen, engine)
	}
	b.goesAway(h)
}

// othersAreNotGone asks for a sandbox that is not there, with a handle that names another engine.
func othersAreNotGone(b *bench) {
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), b.spec("exit", "0"))
	b.must(err)
	b.remove(h)
	if _, err := b.launcher.Open(b.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Open of what is gone: %v", err)
	}
	h.Engine = "another"
	_, opened := b.launcher.Open(b.ctx, h, "")
	_, attested := b.launcher.Attest(b.ctx, h)
	for call, err := range map[string]error{
		"Open": opened, "Attest": attested, "Start": b.launcher.Start(b.ctx, h), "Remove": b.launcher.Remove(b.ctx, h),
	} {
		if !errors.Is(err, sandbox.ErrOtherEngine) || !errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrNotFound) {
			b.Errorf("%s of what another engine has: %v", call, err)
		}
	}
}
