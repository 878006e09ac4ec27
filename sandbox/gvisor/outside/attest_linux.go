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

// The capabilities that gVisor leaves its gofer: it opens files as the sandbox's users would, and has shut itself into their
// directory. CAP_CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID and SYS_CHROOT, by their numbers.
const goferRights = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<18

// Observer looks at sandboxes of a launcher.
type Observer struct {
	Program  string // that the launcher has chosen
	Ordinary bool   // the launcher is an ordinary user's
	Groups   groups.Groups
	Shared   []string // the host's places that are in each sandbox with the host's programs
}

// Attest compares a sandbox that holds with its record.
func (o Observer) Attest(r boxes.Record, box keeper.Box) (sandbox.Attestation, error) {
	s := subject{o, string(r.Sandbox), box}
	sentry, gofer, err := s.findProcesses()
	if err != nil {
		return sandbox.Attestation{}, err
	}
	defer sentry.Close()
	defer gofer.Close()
	sentryIs, goferIs := attest.Rights{UID: command.SentryUser}, attest.Rights{Capabilities: goferRights}
	if s.Ordinary { // in a user namespace of its own the runtime may drop everything
		sentryIs.UID, goferIs.UID = uint32(os.Geteuid()), uint32(os.Geteuid())
	} else if goferIs.Bounding, err = attest.Undroppable(); err != nil {
		return sandbox.Attestation{}, err
	}
	var seen attest.Look
	seen.See("gVisor", fmt.Sprintf("sentry %d and gofer %d, of the sandbox's keeper, the program that was chosen", sentry.Pid(), gofer.Pid()))
	looks := []func(*attest.Look) error{ // each takes as long as the others, and none changes anything
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
				// there is nothing else that the gofer could show to the sandbox
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

// subject is the sandbox that is looked at.
type subject struct {
	Observer
	id  string
	box keeper.Box
}

// findProcesses finds the sentry, which the runtime names, and the gofer, which is the other child of the sentry's parent. A
// process counts only if it is in the sandbox's control group, or where there are none has our keeper for a parent, and
// executes gVisor's program.
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

// openRuntime takes hold of a process of the sandbox's runtime.
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
	info, err := os.Stat(s.Program) // no other user can put another one there: runsc.Find has made sure
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

// proveBelongs makes sure that a process is the sandbox's.
func (s subject) proveBelongs(p *attest.Process) error {
	want := "in the sandbox's control group"
	belongs, err := p.InGroup(func(element string) bool { return element == s.id })
	if s.Groups.Err() != nil { // it has none
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

// checkLimits compares what the kernel bounds with what was asked for.
func (s subject) checkLimits(look *attest.Look, sentry *attest.Process, r boxes.Record) error {
	plan := s.Groups.Plan(string(r.Sandbox), r.Limits)
	if plan == nil {
		return nil // the guarantees say so
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

// checkSentryMounts makes sure that the sentry sees no file of the host's: an empty, read-only root and nothing else.
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

// isCover says whether a mount is one of those that an ordinary user lays over what is mounted below the host's programs, or one
// of these itself. What is below our own read-only places is the host's, and read-only.
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
