package attest

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// capabilitySets are the capability sets of a process.
var capabilitySets = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// status is the text of a /proc/<pid>/status with a line break in front, so that each line is a line break, a key, a
// colon and a value. A process chooses its own name in this text; the kernel escapes a line break in it.
type status string

// of returns the value of a key, with one blank between its parts, or "" if the key is missing.
func (s status) of(key string) string {
	_, rest, found := strings.Cut(string(s), "\n"+key+":")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strings.Join(strings.Fields(value), " ")
}

func (p *Process) status() (status, error) { return p.statusOf(strconv.Itoa(p.pid)) }

// statusOf reads the status of one thread. It returns an error if the thread is dead or about to die: such a thread
// does not hold, whatever else its status shows.
func (p *Process) statusOf(thread string) (status, error) {
	text, err := p.read("task/" + thread + "/status")
	if err != nil {
		return "", err
	}
	s := status("\n" + string(text))
	if isDying(s) {
		return "", fmt.Errorf("look at process %d, which has ended or is ending: %w", p.pid, sandbox.ErrNotHeld)
	}
	return s, nil
}

// isDying reports whether a thread is dead, or whether its process was killed but has not died yet. In the second case
// the process's pending signals still show the kill, even when its threads have begun to die.
func isDying(s status) bool {
	state, _, _ := strings.Cut(s.of("State"), " ")
	pending, err := strconv.ParseUint(s.of("ShdPnd"), 16, 64)
	return state == "Z" || state == "X" || err == nil && pending&(1<<(unix.SIGKILL-1)) != 0
}

// CheckIdentity compares the process's ids and privileges.
func (p *Process) CheckIdentity(look *Look, want Identity) error {
	s, err := p.status()
	if err != nil {
		return err
	}
	four := func(id uint32) string { return strings.TrimSpace(strings.Repeat(fmt.Sprint(id)+" ", 4)) }
	look.Compare("user ids", four(want.UID), s.of("Uid"))
	look.Compare("group ids", four(want.GID), s.of("Gid"))
	if groups := s.of("Groups"); groups != fmt.Sprint(want.GID) { // a runtime may list the group itself
		look.Compare("supplementary groups", "", groups)
	}
	p.checkPowers(look, s)
	if want.Filtered {
		look.Compare("seccomp mode", "2", s.of("Seccomp"))
	}
	return nil
}

// checkPowers compares the privileges that a process of ours never has.
func (p *Process) checkPowers(look *Look, s status) {
	for _, set := range capabilitySets {
		look.Compare(set, strings.Repeat("0", 16), s.of(set))
	}
	look.Compare("no_new_privs", "1", s.of("NoNewPrivs"))
}

// CheckRights compares the rights of every thread of the process. Each thread must belong to the right user, have only
// allowed capabilities, gain none, and be under a filter of system calls.
func (p *Process) CheckRights(look *Look, what string, want Rights) error {
	threads, err := p.threads()
	if err != nil {
		return err
	}
	for _, thread := range threads {
		s, err := p.statusOf(thread)
		if err != nil {
			return err
		}
		want.compare(look, what, s)
	}
	look.See(what, fmt.Sprintf("%d threads of user %d, capabilities %x at most, filtered", len(threads), want.UID, want.Capabilities))
	return nil
}

// compare notes the wrong rights of a thread. The caller notes the correct rights once for all threads.
func (r Rights) compare(look *Look, what string, s status) {
	if got, want := s.of("Uid"), strings.TrimSpace(strings.Repeat(fmt.Sprint(r.UID)+" ", 4)); got != want {
		look.Differ(what+": user ids", want, got)
	}
	for _, set := range capabilitySets {
		allowed := r.Capabilities
		if set == "CapBnd" {
			allowed |= r.Bounding
		}
		if has, err := strconv.ParseUint(s.of(set), 16, 64); err != nil || has&^allowed != 0 {
			look.Differ(what+": "+set, fmt.Sprintf("at most %x", allowed), s.of(set))
		}
	}
	for key, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		if s.of(key) != want {
			look.Differ(what+": "+key, want, s.of(key))
		}
	}
}

// Undroppable returns the capabilities that a program of ours cannot take out of its bounding set: our own bounding
// set, if we may not drop from it. A program that gains nothing (no_new_privs) cannot get capabilities from this set.
func Undroppable() (uint64, error) {
	self, err := Open(os.Getpid())
	if err != nil {
		return 0, err
	}
	defer self.Close()
	s, err := self.status()
	if err != nil {
		return 0, err
	}
	effective, err := strconv.ParseUint(s.of("CapEff"), 16, 64)
	if err != nil || effective&(1<<unix.CAP_SETPCAP) != 0 {
		return 0, err
	}
	return strconv.ParseUint(s.of("CapBnd"), 16, 64)
}

// Parent returns the pid of the process's parent.
func (p *Process) Parent() (int, error) {
	s, err := p.status()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s.of("PPid"))
}

// threads lists the process's threads by the names of their directories.
func (p *Process) threads() ([]string, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), "task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, p.explain("task", err)
	}
	dir := os.NewFile(uintptr(fd), "task")
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// CheckNamespaces compares the process's namespaces with ours: each named namespace must differ.
func (p *Process) CheckNamespaces(look *Look, what string, kinds ...string) error {
	var seen []string
	for _, kind := range kinds {
		theirs, err := p.namespace(kind)
		if err != nil {
			return err
		}
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return err
		}
		seen = append(seen, theirs)
		if theirs == ours {
			look.Differ(what+": "+kind+" namespace", "different from the host's", theirs)
		}
	}
	look.See(what+": namespaces", strings.Join(seen, " "))
	return nil
}

// namespace returns the name of the process's namespace of one kind.
func (p *Process) namespace(kind string) (string, error) {
	name, err := p.readlink("ns/" + kind)
	if err != nil {
		return "", p.explain("ns/"+kind, err)
	}
	return name, nil
}

// CheckNetwork checks the network devices that the process sees: only a loopback, or none at all.
func (p *Process) CheckNetwork(look *Look, what string) error {
	text, err := p.read("net/dev")
	if err != nil {
		return err
	}
	var devices []string
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			devices = append(devices, strings.TrimSpace(name))
		}
	}
	seen := strings.Join(devices, " ")
	look.See(what+": network devices", seen)
	if seen != "" && seen != "lo" {
		look.Differ(what+": network devices", "lo", seen)
	}
	return nil
}
