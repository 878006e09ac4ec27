package docker_test

import (
	"slices"
	"testing"

	"torno/internal/doctor"
	"torno/sandbox/docker"
	"torno/sandbox/docker/survey"
)

// TestSurvey finds an installation with what it has, and none after it was purged.
func TestSurvey(t *testing.T) {
	f := newField(t, docker.MountAuto)
	h := f.create(f.spec("/bin/true"))
	state, id := f.house.state("ours")
	mine := func() (doctor.Launcher, *doctor.Leftover) {
		t.Helper()
		about, err := survey.About(f.ctx, "", "")
		f.must(err)
		all, err := survey.Installations(f.ctx, "")
		f.must(err)
		i := slices.IndexFunc(all, func(l doctor.Leftover) bool { return l.Installation == id })
		if i < 0 {
			return about, nil
		}
		return about, &all[i]
	}
	about, l := mine()
	if about.Socket == "" || about.API == "" || about.Arch == "" || !about.Seccomp || doctor.Unfit(about) != nil {
		t.Errorf("the engine is %+v", about)
	}
	if l == nil || l.State != state || l.Containers != 1 || l.Running != 0 || l.Volumes != 1 || l.Images != 1 || !slices.Equal(l.Slots, []string{"1"}) {
		t.Fatalf("the installation has %+v", l)
	}
	f.remove(h)
	f.must(f.Purge(f.ctx))
	if _, l := mine(); l != nil {
		t.Errorf("it was purged and has %+v", l)
	}
}
