package inside

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestCommands: an ordinary user with a delegated group serves a directory and needs to accept nothing.
func TestCommands(t *testing.T) {
	u := newUser(t, makeGroup(t, delegatedGroups["a service of a user"]))
	u.serve()
	if said := u.spawn("echo hello; id -u"); said != "hello\n54321\n" {
		t.Errorf("the child says %q", said)
	}
}

// TestCommandsWithoutDelegation: without one there is no watcher, until what is missing is accepted. What is said is what to do.
func TestCommandsWithoutDelegation(t *testing.T) {
	for name, g := range undelegatedGroups {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, makeGroup(t, g.serviceGroup))
			out, err := u.command("watcher", "run", "--dir", u.outbox).CombinedOutput()
			for _, says := range []string{g.says, "next: watcher run --accept memory --accept pids --dir " + u.outbox, "control groups cannot be used"} {
				if err == nil || !strings.Contains(string(out), says) {
					t.Fatalf("it does not say %q: %v\n%s", says, err, out)
				}
			}
		})
	}
	u := newUser(t, makeGroup(t, undelegatedGroups["a login"].serviceGroup))
	u.serve("--accept", "memory", "--accept", "pids")
	if said := u.spawn("echo hello"); said != "hello\n" {
		t.Errorf("the child says %q", said)
	}
}

// user is an ordinary one, at a shell in a control group.
type user struct {
	*testing.T
	group, home, outbox string
}

func newUser(t *testing.T, group string) *user {
	t.Helper()
	home := filepath.Join(house.OpenDir(t), "home")
	must(t, os.Mkdir(home, 0o700))
	must(t, os.Chown(home, ordinary, ordinary))
	return &user{t, group, home, filepath.Join(home, "outbox")}
}

func (u *user) command(program string, args ...string) *exec.Cmd {
	u.Helper()
	command := exec.Command(house.Program(program), args...)
	command.Dir, command.Env = u.home, []string{"PATH=/usr/bin", "HOME=" + u.home, "TMPDIR=" + u.home, "TORNO_OUTBOX=" + u.outbox}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	within(u.T, u.group)(command)
	return command
}

// serve runs a watcher until the test ends.
func (u *user) serve(args ...string) {
	u.Helper()
	var said bytes.Buffer
	watcher := u.command("watcher", append([]string{"run", "--dir", u.outbox}, args...)...)
	watcher.Stdout, watcher.Stderr = &said, &said
	must(u, watcher.Start())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Wait() }()
	u.Cleanup(func() {
		must(u, watcher.Process.Signal(syscall.SIGTERM))
		if err := <-ended; err != nil || u.Failed() {
			u.Errorf("the watcher ended with %v\n%s", err, said.String())
		}
	})
	eventually(u.T, "the outbox is served", func() bool {
		select {
		case err := <-ended:
			ended <- err
			u.Fatalf("the watcher ended with %v\n%s", err, said.String())
		default:
		}
		_, err := os.Stat(filepath.Join(u.outbox, delegation.HeartbeatName))
		return err == nil
	})
}

// spawn has a child do something, and returns what it prints.
func (u *user) spawn(task string) string {
	u.Helper()
	out, err := u.command("subagent", "spawn", "--wait", "--", task).Output()
	if err != nil {
		u.Errorf("%q: %v", task, err)
	}
	return string(out)
}
