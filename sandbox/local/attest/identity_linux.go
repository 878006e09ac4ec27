package attest

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilitySets are all that a process has.
var capabilitySets = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// status is /proc/<pid>/status by its keys.
func (p *Process) status() (map[string]string, error) { return p.statusOf(strconv.Itoa(p.pid)) }

// statusOf is the same of one thread.
func (p *Process) statusOf(thread string) (map[string]string, error) {
	text, err := p.read("task/" + thread + "/status")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.Join(strings.Fields(value), " ")
	}
	return fields, nil
}

// CheckIdentity compares the process's ids and privileges.
func (p *Process) CheckIdentity(look *Look, want Identity) error {
	status, err := p.status()
	if err != nil {
		return err
	}
	four := func(id uint32) string { return strings.TrimSpace(strings.Repeat(fmt.Sprint(id)+" ", 4)) }
	look.Compare("user ids", four(want.UID), status["Uid"])
	look.Compare("group ids", four(want.GID), status["Gid"])
	if groups := status["Groups"]; groups != fmt.Sprint(want.GID) { // a runtime may list the group itself
		look.Compare("supplementary groups", "", groups)
	}
	p.checkPowers(look, status)
	if want.Filtered {
		look.Compare("seccomp mode", "2", status["Seccomp"])
	}
	return nil
}

// checkPowers compares what a process of ours never has.
func (p *Process) checkPowers(look *Look, status map[string]string) {
	for _, set := range capabilitySets {
		look.Compare(set, strings.Repeat("0", 16), status[set])
	}
	look.Compare("no_new_privs", "1", status["NoNewPrivs"])
}

// CheckRights compares what every thread of the process may do: whose it is, and that it has no capability but the allowed ones,
// gains none, and is under a filter of system calls.
func (p *Process) CheckRights(look *Look, what string, want Rights) error {
	threads, err := p.threads()
	if err != nil {
		return err
	}
	for _, thread := range threads {
		status, err := p.statusOf(thread)
		if err != nil {
			return err
		}
		want.compare(look, what, status)
	}
	look.See(what, fmt.Sprintf("%d threads of user %d, capabilities %x at most, filtered", len(threads), want.UID, want.Capabilities))
	return nil
}

// compare notes every right that one thread should not have. Rights that are as they should be are noted once, for all threads.
func (r Rights) compare(look *Look, what string, status map[string]string) {
	if got, want := status["Uid"], strings.TrimSpace(strings.Repeat(fmt.Sprint(r.UID)+" ", 4)); got != want {
		look.Differ(what+": user ids", want, got)
	}
	for _, set := range capabilitySets {
		allowed := r.Capabilities
		if set == "CapBnd" {
			allowed |= r.Bounding
		}
		if has, err := strconv.ParseUint(status[set], 16, 64); err != nil || has&^allowed != 0 {
			look.Differ(what+": "+set, fmt.Sprintf("at most %x", allowed), status[set])
		}
	}
	for key, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		if status[key] != want {
			look.Differ(what+": "+key, want, status[key])
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
	status, err := self.status()
	if err != nil {
		return 0, err
	}
	effective, err := strconv.ParseUint(status["CapEff"], 16, 64)
	if err != nil || effective&(1<<unix.CAP_SETPCAP) != 0 {
		return 0, err
	}
	return strconv.ParseUint(status["CapBnd"], 16, 64)
}

// Parent is the process's parent.
func (p *Process) Parent() (int, error) {
	status, err := p.status()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(status["PPid"])
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
