//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"torno/internal/runfile"
	"torno/test/attack"
)

// TestOrphansAreReaped makes orphans that end at once, and waits until init and the agent are all that the system knows.
func TestOrphansAreReaped(t *testing.T) {
	r := newBox(t, `n=0; while [ $n -lt 50 ]; do (sh -c 'echo orphan' &); n=$((n + 1)); done
		set -- /proc/[0-9]*; echo now $#; while [ $# -gt 2 ]; do set -- /proc/[0-9]*; done; echo clean`).run(t)
	r.exits(t, 0)
	if strings.Count(r.stdout, "orphan\n") != 50 || !strings.HasSuffix(r.stdout, "clean\n") {
		t.Errorf("%q", r.stdout)
	}
}

// stubborn starts a process that leaves the agent's family, session and group, ignores what it can, and holds the
// agent's output open.
func stubborn(name string) string {
	return `(setsid sh -c 'trap "" HUP INT TERM; echo ` + name + ` ready; while :; do sleep 1000; done' &)
		`
}

// TestNothingOutlivesTheAgent also shows that init ends what is left itself: it would wait for it otherwise, and say
// so.
func TestNothingOutlivesTheAgent(t *testing.T) {
	for name, limit := range map[string]int64{"direct": 0, "tee": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, stubborn("one")+stubborn("two")+`until [ -e go ]; do :; done; echo last words; exit 4`)
			if limit > 0 {
				b.answer(limit)
			}
			r := b.start(t)
			r.stdout.until(t, "one ready\n")
			r.stdout.until(t, "two ready\n")
			if n := len(processesOf(t, r.uid)); n < 4 {
				t.Fatalf("%d processes; init, the agent and two others should be seen", n)
			}
			b.plant(t, "go", "")
			res := r.wait(t)
			res.exits(t, 4) // and init does not say that it has waited for something in vain
			if left := processesOf(t, r.uid); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
			if !strings.HasSuffix(res.stdout, "last words\n") {
				t.Errorf("%q", res.stdout)
			}
			if limit > 0 && b.read(t, "answer.txt") != res.stdout {
				t.Errorf("the answer is %q", b.read(t, "answer.txt"))
			}
		})
	}
}

// TestOutputHeldFromOutside opens the agent's end of the pipe from the host, as a service would hold it that got it
// through a socket. Init must not wait for it.
func TestOutputHeldFromOutside(t *testing.T) {
	b := newBox(t, "echo all of it; until [ -e go ]; do :; done; exit 6").answer(1 << 20)
	r := b.start(t)
	r.stdout.until(t, "all of it\n")
	held, err := os.OpenFile("/proc/"+strconv.Itoa(agentOf(t, r))+"/fd/1", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	b.plant(t, "go", "")
	r.wait(t).exits(t, 6)
	if got := b.read(t, "answer.txt"); got != "all of it\n" {
		t.Errorf("%q", got)
	}
}

// agentOf is the host's pid of the one process that is not init.
func agentOf(t *testing.T, r *running) int {
	t.Helper()
	for _, pid := range processesOf(t, r.uid) {
		if pid != r.cmd.Process.Pid {
			return pid
		}
	}
	t.Fatal("the agent is not seen")
	return 0
}

// noMoreThreads takes init the right to make threads, which is what an agent does that uses up the sandbox's process limit.
// Root may lack the right to do that, and the user itself has it where no filter is.
func (r *running) noMoreThreads(t *testing.T) {
	t.Helper()
	cmd := exec.Command("prlimit", "--pid", strconv.Itoa(r.cmd.Process.Pid), "--nproc=1:1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.uid)}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestNoNewThreads: in the middle of everything that init ever does it must not need another thread.
func TestNoNewThreads(t *testing.T) {
	b := newBox(t, stubborn("one")+stormy).answer(1 << 20)
	r := b.start(t)
	r.stdout.until(t, "stormy\n")
	if n := tasks(t, r.cmd.Process.Pid); n > runfile.Tasks {
		t.Errorf("init has %d threads; launchers are told %d", n, runfile.Tasks)
	}
	r.noMoreThreads(t)
	b.plant(t, "go", "")
	res := r.storm(t)
	res.exits(t, 9)
	if got := b.read(t, "answer.txt"); got != res.stdout || !strings.HasSuffix(got, "\n"+calm) {
		t.Errorf("%d bytes on standard output, %d in the answer", len(res.stdout), len(got))
	}
}

// TestNoNewThreadsAtTheEnd leaves init a crowd to reap when it may make no thread any more. That takes long enough for Go's
// runtime to look for one that goes on in the meantime.
func TestNoNewThreadsAtTheEnd(t *testing.T) {
	for range attack.Times(3, 8) {
		b := newBox(t, "n=0; while [ $n -lt 500 ]; do sleep 1000 & n=$((n+1)); done; echo crowd; until [ -e go ]; do :; done; exit 9").answer(1 << 20)
		r := b.start(t)
		r.stdout.until(t, "crowd\n")
		r.noMoreThreads(t)
		b.plant(t, "go", "")
		r.wait(t).exits(t, 9)
		if got := b.read(t, "answer.txt"); got != "crowd\n" {
			t.Errorf("the answer is %q", got)
		}
	}
}

func tasks(t *testing.T, pid int) int {
	t.Helper()
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(threads)
}
