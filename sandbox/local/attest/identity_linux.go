package attest

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// capabilitySets are all that a process has.
var capabilitySets = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// status is the text of a /proc/<pid>/status behind the end of a line: lines of a key, a colon and what it has. A process chooses its
// own name in it, in which the kernel writes the end of a line otherwise.
type status string

// of is what a key has, with one blank between its parts; "" where the key is not there.
func (s status) of(key string) string {
	_, rest, found := strings.Cut(string(s), "\n"+key+":")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strings.Join(strings.Fields(value), " ")
}

func (p *Process) status() (status, error) { return p.statusOf(strconv.Itoa(p.pid)) }

// statusOf is the same of one thread. One that is dead or about to die holds nothing, whatever else it shows.
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

// isDying says whether a thread is dead, or its process was killed and has not got round to dying. That it was, its process's pending signals
// still say when its threads have begun to.
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

// checkPowers compares what a process of ours never has.
func (p *Process) checkPowers(look *Look, s status) {
	for _, set := range capabilitySets {
		look.Compare(set, strings.Repeat("0", 16), s.of(set))
	}
	look.Compare("no_new_privs", "1", s.of("NoNewPrivs"))
}

// CheckRights compares what every thread of the process may do: whose it is, and that it has no capability but the allowed ones,
// gains none, and is under a filter of system calls.
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

// compare notes every right that one thread should not have. Rights that are as they should be are noted once, for all threads.
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

// Undroppable are the capabilities that no program of ours can take out of its bounding set: ours, where we may not drop one. A
// program that gains nothing (no_new_privs) does not get them from there.
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

// Parent is the process's parent.
func (p *Process) Parent() (int, error) {
	s, err := p.status()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s.of("PPid"))
}

// threads are the process's threads, by the names of their directories.
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
			look.Differ(what+": "+kind+" namespace", "another one than the host's", theirs)
		}
	}
	look.See(what+": namespaces", strings.Join(seen, " "))
	return nil
}

// namespace names the process's namespace of a kind.
func (p *Process) namespace(kind string) (string, error) {
	name, err := p.readlink("ns/" + kind)
	if err != nil {
		return "", p.explain("ns/"+kind, err)
	}
	return name, nil
}

// CheckNetwork compares the network devices that the process sees: a loopback, or none at all.
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
