package attest

import (
	"os"
	"slices"
	"testing"

	"torno/sandbox"
)

// TestMountsAreCompared looks at the test's own process. A mount that is not known differs, and so does a want
// that is elsewhere, another file, or no mount.
func TestMountsAreCompared(t *testing.T) {
	self, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	proc, err := WantOf("/proc", "/proc")
	if err != nil {
		t.Fatal(err)
	}
	proc.Writable = isWritable(t, self, "/proc")
	another, readOnly, part := proc, proc, proc
	another.Inode++
	readOnly.Writable = !proc.Writable
	part.Target = "/proc/self"
	const unknown = "a mount that was not asked for"
	for what, test := range map[string]struct {
		want    Want
		known   bool
		differs string
	}{
		"as it should be":   {proc, true, ""},
		"another file":      {another, true, "/proc"},
		"other flags":       {readOnly, true, "/proc"},
		"nothing is there":  {Want{Target: "/nonexistent"}, true, "/nonexistent"},
		"a link":            {part, true, "/proc/self"},
		"a part of a mount": {Want{Target: "/proc/1", Writable: proc.Writable}, true, "/proc/1"},
		"mounts of no want": {proc, false, unknown},
	} {
		var look Look
		if err := self.CheckMounts(&look, "mounts", []Want{test.want}, func(Mount) bool { return test.known }); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		differs := slices.ContainsFunc(look.differences, func(d sandbox.Difference) bool { return d.What == test.differs })
		if test.differs == "" {
			differs = !slices.ContainsFunc(look.differences, func(d sandbox.Difference) bool { return d.What == "/proc" || d.What == unknown })
		}
		if !differs {
			t.Errorf("%s: the differences are %+v", what, look.differences)
		}
	}
}

// isWritable says how the process sees a mount.
func isWritable(t *testing.T, p *Process, point string) bool {
	t.Helper()
	mounts, err := p.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(mounts, func(m Mount) bool { return m.Point == point })
	if at < 0 {
		t.Fatalf("%s is no mount", point)
	}
	return !mounts[at].Has("ro")
}
