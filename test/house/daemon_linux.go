package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/tied"
)

// daemon is a part of a private engine, in a session of its own. It dies with the test.
type daemon struct {
	*exec.Cmd
	gone chan struct{}
}

// run starts a program. Its output goes to the engine's log.
func (p *Private) run(name string, args ...string) *daemon {
	p.Helper()
	log, err := os.OpenFile(p.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	p.must(err)
	defer log.Close()
	d := &daemon{exec.Command(which(name), args...), make(chan struct{})}
	d.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	d.Stdout, d.Stderr = log, log
	d.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.must(tied.Start(d.Cmd))
	go func() { _ = d.Wait(); close(d.gone) }() // its exit code does not matter
	return d
}

func (d *daemon) ended() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

// end sends a signal and waits. It kills a daemon that goes on.
func (d *daemon) end(s syscall.Signal) {
	_ = d.Process.Signal(s)
	select {
	case <-d.gone:
	case <-time.After(Patience / 2):
		_ = d.Process.Kill()
		<-d.gone
	}
}

// stragglers kills the shims of this engine, and with them their containers.
func (p *Private) stragglers() {
	p.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	p.must(err)
	for _, line := range lines {
		dir := filepath.Dir(line)
		said, _ := os.ReadFile(line)
		program, _ := os.Readlink(filepath.Join(dir, "exe"))
		if !bytes.Contains(said, []byte(p.path("containerd.sock"))) || !strings.Contains(program, "containerd-shim") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		p.must(err)
		for _, child := range append(childrenOf(dir), pid) {
			_ = unix.Kill(child, unix.SIGKILL)
		}
	}
}

// childrenOf are the children of a process, whichever of its threads made them.
func childrenOf(dir string) (pids []int) {
	lists, _ := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	for _, list := range lists {
		said, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(said)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
