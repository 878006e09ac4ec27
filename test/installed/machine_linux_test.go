package installed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/retry"
	"torno/test/attack"
)

// parent is the user that owns the outbox.
const parent = 1000

// machine is a booted one.
type machine struct {
	testing.TB
	packages, served string // as it sees them: /debs and /srv/torno
	systemd          string // its process, as we see it
}

const systemd = "/lib/systemd/systemd"

// need skips loudly unless CI=true, which `make night` says too: what it takes is more than git, make and Go.
func need(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("CI") != "true" {
		t.Skip("NOT SHOWN HERE: packages under systemd: `make night` tries them")
	}
	why := ""
	if os.Geteuid() != 0 {
		why = "it takes root"
	}
	for _, program := range []string{systemd, "dpkg", "systemd-analyze", "nsenter", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			why = "there is no " + program
		}
	}
	if _, err := os.Stat(filepath.Join(attack.Root(), "bin/runsc")); err != nil {
		why = "there is no bin/runsc: make build"
	}
	if why != "" {
		t.Fatal("the package cannot be tried: " + why)
	}
}

// boot has systemd run as process 1 of a new machine.
func boot(t *testing.T, packages string) *machine {
	t.Helper()
	m := &machine{TB: t, packages: packages, served: t.TempDir()}
	group := fmt.Sprintf("torno-test-%d", os.Getpid())
	var said bytes.Buffer
	program := exec.Command("testdata/boot", t.TempDir(), packages, m.served, group)
	program.Stdout, program.Stderr = &said, &said
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	t.Cleanup(func() {
		if err := program.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-ended // behind it the kernel has ended process 1, and with it all others
		m.until("the control groups are gone", func() bool { return removeGroups(group) })
	})
	children := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", program.Process.Pid)
	m.until("systemd is process 1", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the machine has ended: %v\n%s", err, &said)
		default:
		}
		child, _ := os.ReadFile(children)
		m.systemd = strings.TrimSpace(string(child))
		name, _ := os.ReadFile("/proc/" + m.systemd + "/comm")
		return m.systemd != "" && string(name) == "systemd\n"
	})
	m.until("it has booted", func() bool {
		state, _ := m.try("systemctl", "is-system-running")
		return state == "running\n" || state == "degraded\n"
	})
	return m
}

// removeGroups removes the control groups of a machine, from the innermost on.
func removeGroups(group string) (gone bool) {
	tops, _ := filepath.Glob("/sys/fs/cgroup/*/" + group)
	for _, top := range append(tops, "/sys/fs/cgroup/"+group) {
		var all []string
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for i := len(all) - 1; i >= 0; i-- {
			_ = os.Remove(all[i])
		}
	}
	left, _ := filepath.Glob("/sys/fs/cgroup/*/" + group)
	return len(left) == 0
}

// try runs a command in the machine, as root.
func (m *machine) try(words ...string) (string, error) {
	enter := []string{"-t", m.systemd, "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "env", "-i", "-C", "/", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	out, err := exec.Command("nsenter", append(enter, words...)...).CombinedOutput()
	return string(out), err
}

// run is try of a command that has to succeed.
func (m *machine) run(words ...string) string {
	m.Helper()
	out, err := m.try(words...)
	if err != nil {
		log, _ := m.try("journalctl", "--no-pager", "-u", "torno-watcher")
		m.Fatalf("%s: %v\n%s\n%s", strings.Join(words, " "), err, out, log)
	}
	return out
}

// fails is try of a command that must not succeed.
func (m *machine) fails(words ...string) string {
	m.Helper()
	out, err := m.try(words...)
	if err == nil {
		m.Errorf("%s: it succeeded\n%s", strings.Join(words, " "), out)
	}
	return out
}

// agent runs a command as the parent does.
func (m *machine) agent(words ...string) string {
	m.Helper()
	return m.run(append([]string{"setpriv", fmt.Sprintf("--reuid=%d", parent), fmt.Sprintf("--regid=%d", parent), "--clear-groups", "env", "HOME=/tmp", "TORNO_OUTBOX=/srv/torno/outbox"}, words...)...)
}

// until waits for as long as the test may take.
func (m *machine) until(what string, done func() bool) {
	m.Helper()
	ctx := m.Context()
	if ctx.Err() != nil { // in a clean-up it is over already
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
	}
	for !done() {
		if retry.Pause(ctx, 50*time.Millisecond) != nil {
			m.Fatalf("%s: not so", what)
		}
	}
}

// property is what systemd says of the watcher's unit.
func (m *machine) property(name string) string {
	m.Helper()
	return strings.TrimSpace(m.run("systemctl", "show", "--value", "-p", name, "torno-watcher"))
}

// write replaces a file in the machine.
func (m *machine) write(path, text string) {
	m.Helper()
	m.run("sh", "-c", `printf %s "$1" >"$2"`, "sh", text, path)
}
