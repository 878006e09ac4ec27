package sandboxtest

import (
	"errors"

	"torno/sandbox"
)

var siteCases = []testCase{
	{"every handle names its site", handlesNameTheirSite},
	{"the next launcher has the same site", nextHasTheSameSite},
	{"what another site has is not gone", othersAreNotGone},
}

// siteOf asks a launcher for its site.
func (b *bench) siteOf(l sandbox.Launcher) string {
	b.Helper()
	id, err := l.Site(b.ctx)
	b.must(err)
	if id == "" {
		b.Error("the launcher has a site without an id")
	}
	return id
}

func handlesNameTheirSite(b *bench) {
	site := b.siteOf(b.launcher)
	if again := b.siteOf(b.launcher); again != site {
		b.Errorf("the site is %q, and then %q", site, again)
	}
	id, spec := sandbox.NewSandboxID(), b.spec("exit", "0")
	made, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	defer b.remove(made)
	again, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	for where, h := range map[string]sandbox.Handle{"Create": made, "Create again": again, "List": b.list(b.launcher)[id]} {
		if h.Site != site {
			b.Errorf("the handle of %s names site %q, want %q", where, h.Site, site)
		}
	}
}

func nextHasTheSameSite(b *bench) {
	b.alone()
	site := b.siteOf(b.launcher)
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), b.spec("exit", "0"))
	b.must(err)
	b.crash()
	if next := b.siteOf(b.launcher); next != site {
		b.Errorf("the site was %q, and is %q for the next launcher", site, next)
	}
	if seen := b.list(b.launcher)[h.Sandbox]; seen.Site != site {
		b.Errorf("the next launcher lists %+v, want site %q", seen, site)
	}
	b.goesAway(h)
}

// othersAreNotGone asks for a sandbox that is not there, with a handle that names another site.
func othersAreNotGone(b *bench) {
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), b.spec("exit", "0"))
	b.must(err)
	b.remove(h)
	if _, err := b.launcher.Open(b.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		b.Errorf("Open of what is gone: %v", err)
	}
	h.Site = "another"
	_, opened := b.launcher.Open(b.ctx, h, "")
	_, attested := b.launcher.Attest(b.ctx, h)
	for call, err := range map[string]error{
		"Open": opened, "Attest": attested, "Start": b.launcher.Start(b.ctx, h), "Remove": b.launcher.Remove(b.ctx, h),
	} {
		if !errors.Is(err, sandbox.ErrOtherSite) || !errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrNotFound) {
			b.Errorf("%s of what another site has: %v", call, err)
		}
	}
}
