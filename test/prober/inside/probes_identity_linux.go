package inside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identityProbes are the ways to be somebody else.
func identityProbes() []probe {
	return []probe{
		{"C4", "a capability", hasCapability},
		{"C4", "a capability to be regained", regainCapability},
		{"C4", "capset", capset},
		{"C4", "securebits", call(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, 0)},
		{"C4", "setuid to root", call(unix.SYS_SETUID, 0)},
		{"C4", "setgid to root", call(unix.SYS_SETGID, 0)},
		{"C4", "setfsuid to root", fsuid},
		{"C4", "a group of root's", group},
		{"C4", "a set-uid program", setUIDProgram},
	}
}

func hasCapability(*Ground) error {
	own, err := status("self")
	for _, set := range own.Capabilities {
		if set != 0 {
			return nil
		}
	}
	return errors.Join(err, errAbsent)
}

// regainCapability asks for a right to a capability that a program with file capabilities could give back.
func regainCapability(*Ground) error {
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		if has, _, _ := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, capability, 0); has == 1 {
			return nil
		}
	}
	return errAbsent
}

// capset takes the capability that opens most doors.
func capset(*Ground) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Permitted |= 1 << unix.CAP_SYS_ADMIN
	data[0].Effective |= 1 << unix.CAP_SYS_ADMIN
	return unix.Capset(&header, &data[0])
}

// fsuid always succeeds, by its return value, which is the old one; so it is asked twice.
func fsuid(*Ground) error {
	_, _, _ = syscall.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
	now, _, _ := syscall.RawSyscall(unix.SYS_SETFSUID, wrong, 0, 0)
	if now != 0 {
		return unix.EPERM
	}
	return nil
}

func group(*Ground) error {
	var root [1]uint32
	_, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&root[0])), 0)
	return verdictOf(errno)
}

// setUIDProgram runs the planted program, as an ordinary user, and asks it for its user.
func setUIDProgram(g *Ground) error {
	cmd := exec.Command(g.SetUID, "whoami")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	switch {
	case err != nil:
		return fmt.Errorf("run %s: %w", g.SetUID, err)
	case strings.TrimSpace(string(out)) != "0":
		return unix.EPERM
	}
	return nil
}

// inUserNamespace starts a process in a user namespace of its own, as a container in a container does.
func inUserNamespace(*Ground) error {
	cmd := exec.Command("/proc/self/exe", "nothing")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// processProbes are about process 1 and about the processes of others.
func processProbes() []probe {
	all := []probe{
		{"C15", "a process of somebody else's", foreignProcess},
		{"C15", "a signal for a process of somebody else's", foreignSignal},
		{"C18", "the environment of process 1", opens(unix.O_RDONLY, "/proc/1/environ")},
	}
	for _, secret := range []string{"mem", "fd", "maps", "cwd", "root", "exe", "auxv", "syscall", "stack", "io", "map_files"} {
		all = append(all, probe{"C21", secret + " of process 1", secretOf(secret)})
	}
	return all
}

// secretOf looks at a file of process 1 that only its tracers may read.
func secretOf(secret string) func(*Ground) error {
	path := "/proc/1/" + secret
	if secret == "fd" { // the right to list them tells only how many there are
		return func(*Ground) error {
			_, err := os.Readlink(path + "/0")
			return err
		}
	}
	if slices.Contains([]string{"cwd", "root", "exe"}, secret) {
		return func(*Ground) error {
			_, err := os.Readlink(path)
			return err
		}
	}
	if secret == "syscall" || secret == "stack" || secret == "io" || secret == "auxv" {
		return func(*Ground) error {
			_, err := os.ReadFile(path)
			return err
		}
	}
	return opens(unix.O_RDONLY, path)
}

// strangers are processes that are neither process 1, nor we, nor above us.
func strangers() (found []string) {
	known := map[string]bool{"1": true}
	for pid := fmt.Sprint(os.Getpid()); pid != "" && pid != "0" && !known[pid]; pid = parentOf(pid) {
		known[pid] = true
	}
	for _, name := range names("/proc") {
		if name[0] >= '1' && name[0] <= '9' && !known[name] {
			found = append(found, name)
		}
	}
	return found
}

func parentOf(pid string) string {
	content, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(content)) {
		if parent, ok := strings.CutPrefix(line, "PPid:"); ok {
			return strings.TrimSpace(parent)
		}
	}
	return ""
}

func foreignProcess(*Ground) error {
	if len(strangers()) == 0 {
		return errAbsent
	}
	return nil
}

// foreignSignal sends nothing; the kernel says whether it would.
func foreignSignal(*Ground) error {
	for _, name := range strangers() {
		var pid int
		if _, err := fmt.Sscan(name, &pid); err == nil && unix.Kill(pid, 0) == nil {
			return nil
		}
	}
	return errAbsent
}
