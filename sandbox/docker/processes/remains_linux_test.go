package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox/local"
	"torno/test/missing"
	"torno/test/tied"
)

const (
	someID  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	otherID = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

// TestGroupsOfContainers: engines make the groups, and users of the host make groups whose names only look like that.
func TestGroupsOfContainers(t *testing.T) {
	for path, want := range map[string]bool{
		"/docker/" + someID:                                                        true,
		"/docker/" + otherID + "/docker/" + someID:                                 true, // an engine in a container
		"/../" + someID:                                                            true, // seen from another container's namespace
		"/../docker-" + someID + ".scope":                                          true,
		"/../../user.slice/docker-" + someID + ".scope":                            false,
		"/torno/" + someID + "/below":                                              true,
		"/system.slice/docker-" + someID + ".scope":                                true,
		"/torno.slice/torno-a.slice/docker-" + someID + ".scope":                   true,
		"/docker/" + otherID:                                                       false,
		"/docker/" + someID + "x":                                                  false,
		"/docker/x-" + someID:                                                      false,
		"/docker/docker-" + someID + ".scope":                                      false,
		"/system.slice/x-docker-" + someID + ".scope":                              false,
		"/system.slice/" + someID + ".service":                                     false,
		"/system.slice/of-a-user.service/docker-" + someID + ".scope":              false,
		"/user.slice/user-1000.slice/user@1000.service/app.slice/" + someID:        false,
		"/user.slice/user-1000.slice/session.slice/docker-" + someID + ".scope":    false,
		"/user.slice/user-1000.slice/user@1000.service/a-" + someID + "-b.service": false,
		"/": false,
	} {
		if got := anyGroupOf("9:pids:/docker/x\n4:cpu,cpuacct:"+path+"\n0::/\n", someID); got != want {
			t.Errorf("%s: it is the container's: %t", path, got)
		}
	}
}

func TestUsersOfProcesses(t *testing.T) {
	for status, want := range map[string]uint32{
		"Name:\tx\nUid:\t1000\t1000\t1000\t1000\n": 1000,
		"Name:\tx\nUid:\t1000\t0\t0\t0\n":          0, // a set-uid program is no sandbox's
		"Name:\tUid:\n":                            0,
		"":                                         0,
	} {
		if uid, ok := userOf(status); uid != want || ok != (want != 0) {
			t.Errorf("%q is of user %d, %t", status, uid, ok)
		}
	}
}

// TestNoStrangerIsTakenForARest starts processes in groups with a container's id in their names. Only what runs in the container's own
// group, as a sandbox's user, is killed.
func TestNoStrangerIsTakenForARest(t *testing.T) {
	users := local.UIDRange{First: 2_000_000_000, Count: 256}
	const sandboxed, stranger = 2_000_000_001, 1000
	id := strings.Repeat(strconv.Itoa(os.Getpid()%10), 40) + strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		what, group string
		uid         uint32
		by          uint32 // the uid in the container's label
		found, dies bool
	}{
		{"a sandbox's", "torno-test/" + id, sandboxed, 0, true, true},
		{"the workspace's owner's", "torno-test/" + id, stranger, stranger, true, true},
		{"a stranger's in its group", "torno-test/" + id, stranger, sandboxed, false, false},
		{"the runtime's", "torno-test/" + id, 0, sandboxed, true, false},
		{"a user's unit with the id", "user.slice/user-1000.slice/a-" + id + ".service", stranger, sandboxed, false, false},
		{"a user's group of its name", "user.slice/user-1000.slice/" + id, sandboxed, sandboxed, false, false},
		{"a group that begins like it", "torno-test/" + id + "x", sandboxed, sandboxed, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			process := inGroup(t, c.group, c.uid)
			found, err := RemainsOf(id, c.by, users).Kill()
			if err != nil || found > 1 || (found == 1) != c.found {
				t.Errorf("found %d, %v", found, err)
			}
			if !c.dies { // so that there is something to wait for
				if err := process.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			}
			_ = process.Wait()
			signal, want := process.ProcessState.Sys().(syscall.WaitStatus).Signal(), syscall.SIGTERM
			if c.dies {
				want = syscall.SIGKILL
			}
			if signal != want {
				t.Errorf("it was ended by %v, not by %v", signal, want)
			}
		})
	}
}

// inGroup starts a process of a user in a control group, which it makes.
func inGroup(t *testing.T, group string, uid uint32) *exec.Cmd {
	t.Helper()
	top := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(top); err != nil {
		top = "/sys/fs/cgroup" // version 2
	}
	dir := filepath.Join(top, group)
	t.Cleanup(func() {
		for at := dir; at != top; at = filepath.Dir(at) {
			_ = unix.Rmdir(at) // one that is in use stays
		}
	})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		missing.Skip(t, "no control group can be made: ", err)
	}
	cmd := exec.Command("/bin/sleep", "1000000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := tied.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		missing.Skip(t, "no process can be moved into a group: ", err)
	}
	return cmd
}
