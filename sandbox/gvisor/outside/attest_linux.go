package outside

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"torno/internal/paths"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/groups"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local/attest"
)

// goferRights are the capabilities that gVisor leaves its gofer. The gofer needs them to open files as the sandbox's
// users would; it has confined itself to the sandbox's directory. By their numbers they are CAP_CHOWN, DAC_OVERRIDE,
// DAC_READ_SEARCH, FOWNER, FSETID and SYS_CHROOT.
const goferRights = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<18

// Observer looks at the sandboxes of a launcher.
type Observer struct {
	Program  string // the runtime's path, as the launcher has chosen it
	Ordinary bool   // the launcher runs as an ordinary user
	Groups   groups.Groups
	Shared   []string // places of the host that are in each sandbox with the host's programs
}

// Attest compares a held sandbox with its record.
func (o Observer) Attest(r boxes.Record, box keeper.Box) (sandbox.Attestation, error) {
	s := subject{o, string(r.Sandbox), box}
	sentry, gofer, err := s.findProcesses()
	if err != nil {
		return sandbox.Attestation{}, err
	}
	defer sentry.Close()
	defer gofer.Close()
	sentryIs, goferIs := attest.Rights{UID: command.SentryUser}, attest.Rights{Capabilities: goferRights}
	if s.Ordinary { // in a user namespace of its own the runtime can drop everything
		sentryIs.UID, goferIs.UID = uint32(os.Geteuid()), uint32(os.Geteuid())
	} else if goferIs.Bounding, err = attest.Undroppable(); err != nil {
		return sandbox.Attestation{}, err
	}
	var seen attest.Look
	seen.See("gVisor", fmt.Sprintf("sentry %d and gofer %d, of the sandbox's keeper, the program that was chosen", sentry.Pid(), gofer.Pid()))
	looks := []func(*attest.Look) error{ // each takes as long as the other, and neither changes anything
		func(look *attest.Look) error {
			return firstOf(
				func() error { return sentry.CheckRights(look, "sentry", sentryIs) },
				func() error { return sentry.CheckNamespaces(look, "sentry", "user", "pid", "ipc", "uts", "mnt", "net") },
				func() error { return sentry.CheckNetwork(look, "sentry") },
				func() error { return checkSentryMounts(look, sentry) },
				func() error { return s.checkLimits(look, sentry, r) },
			)
		},
		func(look *attest.Look) error {
			return firstOf(
				func() error { return gofer.CheckRights(look, "gofer", goferIs) },
				func() error { return gofer.CheckNamespaces(look, "gofer", "pid", "ipc", "uts", "mnt", "net") },
				func() error { return gofer.CheckNetwork(look, "gofer") },
				// The gofer can show nothing else to the sandbox.
				func() error { return gofer.CheckMounts(look, "gofer's mounts", r.Wanted, s.isCover) },
			)
		},
	}
	found, errs := make([]attest.Look, len(looks)), make([]error, len(looks))
	var work sync.WaitGroup
	for i, look := range looks {
		work.Go(func() { errs[i] = look(&found[i]) })
	}
	work.Wait()
	for i := range looks {
		if errs[i] != nil {
			return sandbox.Attestation{}, attest.OrEnded(errs[i], sentry, gofer)
		}
		seen.Add(&found[i])
	}
	attestation, err := seen.Attestation()
	return attestation, attest.OrEnded(err, sentry, gofer)
}

// firstOf makes one check after the other, until one fails.
func firstOf(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// subject is the sandbox under inspection.
type subject struct {
	Observer
	id  string
	box keeper.Box
}

// findProcesses finds the sentry, whose pid the runtime has written down, and the gofer, the other child of the
// sentry's parent. A process counts only if it executes gVisor's program and is in the sandbox's control group. If
// there are no groups, it has to be a child of our keeper instead.
func (s subject) findProcesses() (sentry, gofer *attest.Process, err error) {
	pid, err := s.box.Sentry()
	if err != nil {
		return nil, nil, err
	}
	if sentry, err = s.openRuntime(pid); err != nil {
		return nil, nil, err
	}
	parent, err := sentry.Parent()
	if err == nil {
		gofer, err = s.findGofer(parent, pid)
	}
	if err != nil {
		sentry.Close()
		return nil, nil, err
	}
	return sentry, gofer, nil
}

func (s subject) findGofer(parent, sentry int) (*attest.Process, error) {
	above, err := attest.Open(parent)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	children, err := above.Children()
	if err != nil {
		return nil, err
	}
	children = slices.DeleteFunc(children, func(pid int) bool { return pid == sentry })
	if len(children) == 0 {
		return nil, fmt.Errorf("the gofer has ended: %w", sandbox.ErrNotHeld)
	}
	if len(children) != 1 {
		return nil, &sandbox.DifferenceError{Differences: []sandbox.Difference{{
			What: "the keeper's children beside the sentry", Want: "the gofer alone", Got: fmt.Sprintf("processes %v", children),
		}}}
	}
	return s.openRuntime(children[0])
}

// openRuntime opens a handle on a process of the sandbox's runtime, and proves that it is one.
func (s subject) openRuntime(pid int) (*attest.Process, error) {
	p, err := attest.Open(pid)
	if err != nil {
		return nil, err
	}
	if err := attest.OrEnded(s.proveRuntime(p), p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (s subject) proveRuntime(p *attest.Process) error {
	if err := s.proveBelongs(p); err != nil {
		return err
	}
	found, program, err := p.Program()
	if err != nil {
		return err
	}
	program.Close()
	info, err := os.Stat(s.Program) // runsc.Find has made sure that no other user can exchange it
	if err != nil {
		return fmt.Errorf("look for gVisor: %w", err)
	}
	chosen := info.Sys().(*syscall.Stat_t)
	if uint64(chosen.Dev) != found.Device || chosen.Ino != found.Inode {
		return &sandbox.DifferenceError{Differences: []sandbox.Difference{{
			What: fmt.Sprintf("the program of process %d", p.Pid()), Want: s.Program, Got: fmt.Sprintf("inode %d", found.Inode),
		}}}
	}
	return nil
}

// proveBelongs makes sure that a process belongs to the sandbox.
func (s subject) proveBelongs(p *attest.Process) error {
	want := "in the sandbox's control group"
	belongs, err := p.InGroup(func(element string) bool { return element == s.id })
	if s.Groups.Err() != nil { // the process is in no group
		var parent int
		want = "a child of the sandbox's keeper"
		parent, err = p.Parent()
		belongs = parent != 0 && parent == s.box.Keeper()
	}
	if err != nil || belongs {
		return err
	}
	return &sandbox.DifferenceError{Differences: []sandbox.Difference{{What: fmt.Sprintf("process %d", p.Pid()), Want: want, Got: "somewhere else"}}}
}

// checkLimits compares the kernel's bounds with the planned ones.
func (s subject) checkLimits(look *attest.Look, sentry *attest.Process, r boxes.Record) error {
	plan := s.Groups.Plan(string(r.Sandbox), r.Limits)
	if plan == nil {
		return nil // the guarantees tell that there are no limits
	}
	got, err := sentry.Bounds()
	if err != nil {
		return err
	}
	const page = 4096
	look.Compare("memory limit", fmt.Sprint(plan.Limits.Memory/page*page), fmt.Sprint(got.Memory))
	look.Compare("pids limit", fmt.Sprint(plan.Limits.Pids), fmt.Sprint(got.Pids))
	if s.Groups.Swap() {
		look.Compare("swap limit", "0", fmt.Sprint(got.Swap))
	}
	if s.Groups.CPU() {
		look.Compare("cpu limit", fmt.Sprint(plan.Limits.CPUs), fmt.Sprint(got.CPUs))
	}
	return nil
}

// checkSentryMounts makes sure that the sentry sees no file of the host: only an empty, read-only root.
func checkSentryMounts(look *attest.Look, sentry *attest.Process) error {
	mounts, err := sentry.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Point != "/" || m.Kind != "tmpfs" || !m.Has("ro") {
			look.Differ("a mount of the sentry", "an empty, read-only root alone", m.String())
		}
	}
	look.See("sentry's mounts", "an empty, read-only root alone")
	return nil
}

// isCover reports whether a mount is read-only and lies below one of the host's shared places. An ordinary user's
// launcher cannot leave out the mounts below the host's programs, so it covers them; both they and their covers lie
// there. All of them belong to the host.
func (s subject) isCover(m attest.Mount) bool {
	if !s.Ordinary || !m.Has("ro") {
		return false
	}
	for _, place := range s.Shared {
		if m.Point != place && paths.Within(place, m.Point) {
			return true
		}
	}
	return false
}
