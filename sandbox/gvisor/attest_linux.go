package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"torno/internal/paths"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
)

// Attest looks at the two processes of gVisor that a sandbox consists of: the sentry, which is its kernel, and the gofer, which
// opens the host's files for it and sees all that the sandbox can see.
func (l *Launcher) Attest(_ context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	if err := h.On(l.boxes.Site()); err != nil {
		return sandbox.Attestation{}, err
	}
	if l.unattested != "" {
		return sandbox.Attestation{Why: l.unattested}, nil
	}
	r, err := l.boxes.Read(h.ID)
	if err != nil {
		return sandbox.Attestation{}, err
	}
	if state, err := l.boxes.Keeper(h.ID).State(); err != nil || state != keeper.Live {
		return sandbox.Attestation{}, errors.Join(fmt.Errorf("attest sandbox %s: %w", h.ID, sandbox.ErrNotHeld), err)
	}
	attestation, err := l.attest(r)
	if errors.Is(err, attest.ErrCannotLook) && errors.Is(err, fs.ErrNotExist) && h.ID != trialID { // the trial has seen such processes
		err = sandbox.ErrNotHeld
	}
	if err != nil {
		return sandbox.Attestation{}, fmt.Errorf("attest sandbox %s: %w", h.ID, err)
	}
	return attestation, nil
}

// The capabilities that gVisor leaves its gofer: it opens files as the sandbox's users would, and has shut itself into their
// directory. CAP_CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID and SYS_CHROOT, by their numbers.
const goferRights = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<18

func (l *Launcher) attest(r boxes.Record) (sandbox.Attestation, error) {
	sentry, gofer, err := l.findProcesses(string(r.Sandbox))
	if err != nil {
		return sandbox.Attestation{}, err
	}
	defer sentry.Close()
	defer gofer.Close()
	sentryIs, goferIs := attest.Rights{UID: command.SentryUser}, attest.Rights{Capabilities: goferRights}
	if l.rootless { // in a user namespace of its own the runtime may drop everything
		sentryIs.UID, goferIs.UID = uint32(os.Geteuid()), uint32(os.Geteuid())
	} else if goferIs.Bounding, err = attest.Undroppable(); err != nil {
		return sandbox.Attestation{}, err
	}
	var look attest.Look
	look.See("gVisor", fmt.Sprintf("sentry %d and gofer %d, of the sandbox's keeper, the program that was chosen", sentry.Pid(), gofer.Pid()))
	for _, check := range []func(*attest.Look) error{
		func(look *attest.Look) error { return sentry.CheckRights(look, "sentry", sentryIs) },
		func(look *attest.Look) error { return gofer.CheckRights(look, "gofer", goferIs) },
		func(look *attest.Look) error {
			return sentry.CheckNamespaces(look, "sentry", "user", "pid", "ipc", "uts", "mnt", "net")
		},
		func(look *attest.Look) error {
			return gofer.CheckNamespaces(look, "gofer", "pid", "ipc", "uts", "mnt", "net")
		},
		func(look *attest.Look) error { return sentry.CheckNetwork(look, "sentry") },
		func(look *attest.Look) error { return gofer.CheckNetwork(look, "gofer") },
		func(look *attest.Look) error { return l.checkLimits(look, sentry, r) },
		func(look *attest.Look) error { return checkSentryMounts(look, sentry) },
		func(look *attest.Look) error { // there is nothing else that the gofer could show to the sandbox
			return gofer.CheckMounts(look, "gofer's mounts", r.Wanted, l.isCover)
		},
	} {
		if err := check(&look); err != nil {
			return sandbox.Attestation{}, err
		}
	}
	return look.Attestation()
}

// findProcesses finds the sentry, which the runtime names, and the gofer, which is the other child of the sentry's parent. A
// process counts only if it is in the sandbox's control group, or where there are none has our keeper for a parent, and
// executes gVisor's program.
func (l *Launcher) findProcesses(id string) (sentry, gofer *attest.Process, err error) {
	pid, err := l.boxes.Keeper(id).Sentry()
	if err != nil {
		return nil, nil, err
	}
	if sentry, err = l.openRuntime(id, pid); err != nil {
		return nil, nil, err
	}
	parent, err := sentry.Parent()
	if err == nil {
		gofer, err = l.findGofer(id, parent, pid)
	}
	if err != nil {
		sentry.Close()
		return nil, nil, err
	}
	return sentry, gofer, nil
}

func (l *Launcher) findGofer(id string, parent, sentry int) (*attest.Process, error) {
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
	if len(children) != 1 {
		return nil, &sandbox.DifferenceError{Differences: []sandbox.Difference{{
			What: "the keeper's children beside the sentry", Want: "the gofer alone", Got: fmt.Sprintf("processes %v", children),
		}}}
	}
	return l.openRuntime(id, children[0])
}

// openRuntime takes hold of a process of the sandbox's runtime.
func (l *Launcher) openRuntime(id string, pid int) (*attest.Process, error) {
	p, err := attest.Open(pid)
	if err != nil {
		return nil, err
	}
	if err := l.proveRuntime(id, p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (l *Launcher) proveRuntime(id string, p *attest.Process) error {
	if err := l.proveBelongs(id, p); err != nil {
		return err
	}
	found, program, err := p.Program()
	if err != nil {
		return err
	}
	program.Close()
	info, err := os.Stat(l.options.Runsc) // nobody else can put another one there: runsc.Find has made sure
	if err != nil {
		return fmt.Errorf("look for gVisor: %w", err)
	}
	chosen := info.Sys().(*syscall.Stat_t)
	if uint64(chosen.Dev) != found.Device || chosen.Ino != found.Inode {
		return &sandbox.DifferenceError{Differences: []sandbox.Difference{{
			What: fmt.Sprintf("the program of process %d", p.Pid()), Want: l.options.Runsc, Got: fmt.Sprintf("inode %d", found.Inode),
		}}}
	}
	return nil
}

// proveBelongs makes sure that a process is the sandbox's.
func (l *Launcher) proveBelongs(id string, p *attest.Process) error {
	want := "in the sandbox's control group"
	belongs, err := p.InGroup(func(element string) bool { return element == id })
	if l.groups.Err() != nil { // it has none
		var parent int
		want = "a child of the sandbox's keeper"
		parent, err = p.Parent()
		belongs = parent != 0 && parent == l.boxes.Keeper(id).Keeper()
	}
	if err != nil || belongs {
		return err
	}
	return &sandbox.DifferenceError{Differences: []sandbox.Difference{{What: fmt.Sprintf("process %d", p.Pid()), Want: want, Got: "somewhere else"}}}
}

// checkLimits compares what the kernel bounds with what was asked for.
func (l *Launcher) checkLimits(look *attest.Look, sentry *attest.Process, r boxes.Record) error {
	plan := l.groups.Plan(string(r.Sandbox), r.Limits)
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
	if l.groups.Swap() {
		look.Compare("swap limit", "0", fmt.Sprint(got.Swap))
	}
	if l.groups.CPU() {
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
func (l *Launcher) isCover(m attest.Mount) bool {
	if !l.rootless || !m.Has("ro") {
		return false
	}
	for _, b := range l.shared.system.Binds() {
		if m.Point != b.Target && paths.Within(b.Target, m.Point) {
			return true
		}
	}
	return false
}

// wanted is what the gofer should see.
func (m *making) wanted() ([]attest.Want, error) {
	all := []attest.Want{{Target: "/"}, {Target: "/dev/fuse"}, {Target: path.Dir(runfile.Init)}}
	run, err := attest.WantOf(m.Slot.RunDir(), runfile.Dir)
	if err != nil {
		return nil, err
	}
	all = append(all, run)
	if m.Spec.RootFS.Host {
		for _, b := range m.shared.system.Binds() {
			want, err := attest.WantOf(b.Source, b.Target)
			if err != nil {
				return nil, err
			}
			all = append(all, want)
		}
	}
	all = append(all, local.Wants(m.Pins.Expected(true))...)
	for _, view := range m.recipe.Mounts {
		if view.Deep && !slices.ContainsFunc(all, func(w attest.Want) bool { return w.Target == view.Target }) {
			all = append(all, attest.Want{Target: view.Target})
		}
	}
	return all, nil
}
