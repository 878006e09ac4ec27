//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSignalsReachTheAgentsGroup(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		r := newBox(t, fmt.Sprintf(`trap 'echo agent' %[1]d
			sh -c "trap 'echo grandchild; exit' %[1]d; echo ready; sleep 1000 & wait"
			exit 3`, sig)).start(t)
		r.stdout.until(t, "ready\n")
		r.signal(t, sig)
		res := r.wait(t)
		if res.exits(t, 3); res.stdout != "ready\ngrandchild\nagent\n" {
			t.Errorf("%v: %q", sig, res.stdout)
		}
	}
}

func TestSignalsEndTheAgent(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		r := newBox(t, "echo ready; exec sleep 1000").start(t)
		r.stdout.until(t, "ready\n")
		r.signal(t, sig)
		r.wait(t).exits(t, 128+int(sig))
	}
}

// TestSignalBeforeTheAgent holds init up where it says the started line, by a pipe that is full, and sends the signal
// there. Whether init sees it before it starts the agent or just after, the run must not go on as if nothing had come.
func TestSignalBeforeTheAgent(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		b := newBox(t, "exec sleep 1000")
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		filling := fill(t, write)
		b.stderr = write
		r := b.start(t)
		untilWriting(t, r.cmd.Process.Pid)
		r.signal(t, sig)
		r.stderr = collect(read)
		res := r.wait(t)
		res.stderr = strings.TrimPrefix(res.stderr, filling)
		said := res.agentSaid(t)
		if res.status.ExitStatus() != 128+int(sig) {
			t.Errorf("%v: status %#x, said %q", sig, res.status, said)
		}
	}
}

// fill writes into the pipe until nothing more fits.
func fill(t *testing.T, write *os.File) string {
	t.Helper()
	size, err := unix.FcntlInt(write.Fd(), unix.F_GETPIPE_SZ, 0) // Fd makes it block, as init expects it
	if err != nil {
		t.Fatal(err)
	}
	filling := strings.Repeat("x", size)
	if _, err := write.WriteString(filling); err != nil {
		t.Fatal(err)
	}
	return filling
}

// untilWriting waits until a thread of the process is in a write to standard error.
func untilWriting(t *testing.T, pid int) {
	t.Helper()
	writing := fmt.Sprintf("%d 0x2 ", unix.SYS_WRITE)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(data), writing) {
				return
			}
		}
	}
	t.Fatal("init does not come to its first line")
}

func TestAgentThatIgnoresTermIsKilled(t *testing.T) {
	r := newBox(t, `trap "" TERM; trap "echo alive" USR1; echo ready; while :; do sleep 1000 & wait; done`).start(t)
	r.stdout.until(t, "ready\n")
	r.signal(t, unix.SIGTERM)
	r.signal(t, unix.SIGUSR1)
	r.stdout.until(t, "alive\n") // it has outlived the signal before
	if len(processesOf(t, r.uid)) < 2 {
		t.Fatal("init and the agent should be seen")
	}
	r.signal(t, unix.SIGKILL)
	res := r.wait(t)
	if !res.status.Signaled() || res.status.Signal() != unix.SIGKILL {
		t.Errorf("status %#x", res.status)
	}
	if left := processesOf(t, r.uid); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestAgentCannotEndInit has the agent send process 1 every signal there is, ten times as kill does and once as a program
// does that makes one up, and then end as it likes.
func TestAgentCannotEndInit(t *testing.T) {
	r := newBox(t, `trap "" HUP INT QUIT USR1 USR2 TERM
		until grep -q "^SigIgn:.*[1-9a-f]" /proc/1/status; do :; done
		n=0; while [ $n -lt 640 ]; do kill -$((n % 64 + 1)) 1 || echo cannot send $n; n=$((n + 1)); done
		n=1; while [ $n -le 64 ]; do /bin/kill -q 1 -$n 1 || echo cannot queue $n; n=$((n + 1)); done
		echo still here; exit 5`).run(t)
	if r.exits(t, 5); r.stdout != "still here\n" {
		t.Errorf("%q", r.stdout)
	}
}

// stormy prints, makes orphans and signals init, all at once, as soon as the file "go" is there. calm is the end of it.
const (
	stormy = `trap "" USR1 USR2; echo stormy; until [ -e go ]; do :; done
		n=0; while [ $n -lt 200 ]; do (sh -c : &); kill -USR2 1; echo line $n; n=$((n + 1)); done; exit 9`
	calm = "line 198\nline 199\n"
)

// storm sends signals until the box has ended.
func (r *running) storm(t *testing.T) result {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for r.cmd.Process.Signal(unix.SIGUSR1) == nil {
			select {
			case <-r.stdout.ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	res := r.wait(t)
	<-over
	return res
}

// TestSignalsInAStorm has output, orphans and signals come at once. With the race detector in init it would also show
// whether two of init's goroutines share something.
func TestSignalsInAStorm(t *testing.T) {
	if raced == "" {
		t.Skip("NOT TESTED: init with the race detector in it; test with -race")
	}
	b := newBox(t, stormy).answer(1 << 20)
	b.init = raced
	b.plant(t, "go", "")
	r := b.start(t)
	r.stdout.until(t, "stormy\n")
	res := r.storm(t)
	res.exits(t, 9)
	if got := b.read(t, "answer.txt"); got != res.stdout || !strings.HasSuffix(got, "\n"+calm) {
		t.Errorf("%d bytes on standard output, %d in the answer", len(res.stdout), len(got))
	}
}

// passesAll is a filter that lets everything pass: BPF_RET with SECCOMP_RET_ALLOW.
const passesAll = "\x06\x00\x00\x00\x00\x00\xFF\x7F"

// starving takes from init what a process of the same user can take: processor time, the size of files, and its turn.
const starving = `for way in "prlimit --pid 1 --cpu=3600:3600" "prlimit --pid 1 --fsize=0:0" "renice -n 19 -p 1" \
	"chrt --idle --pid 0 1" "ionice -c 3 -p 1"; do $way >/dev/null 2>&1 && echo "can $way" >&2; done; echo answer; exit 5`

// TestAgentCannotStarveInit: under another filter all of it works, and the answer is lost.
func TestAgentCannotStarveInit(t *testing.T) {
	for _, tool := range []string{"prlimit", "renice", "chrt", "ionice"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: this machine has no %s", tool)
		}
	}
	b := newBox(t, starving).answer(1 << 10)
	r := b.run(t)
	if r.exits(t, 5); strings.Contains(r.stderr, "can ") || b.read(t, "answer.txt") != "answer\n" {
		t.Errorf("%q, and the answer is %q", r.stderr, b.read(t, "answer.txt"))
	}
	weak := newBox(t, starving).answer(1 << 10)
	weak.filter = []byte(passesAll)
	r = weak.run(t)
	content, err := os.ReadFile(weak.in("answer.txt"))
	if strings.Count(r.stderr, "can ") != 5 || err == nil && string(content) == "answer\n" {
		t.Errorf("the attack is dead: %q, %v, and the answer is %q", r.stderr, err, content)
	}
}

// TestAgentCannotEndInitByALimit: under another filter the kernel kills init when the time is used up that the agent left it.
func TestAgentCannotEndInitByALimit(t *testing.T) {
	const script = `trap "" USR2; prlimit --pid 1 --cpu=1:1 2>/dev/null || { echo held; exit 5; }; while kill -USR2 1; do :; done`
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("NOT TESTED: this machine has no prlimit")
	}
	r := newBox(t, script).run(t)
	if r.exits(t, 5); r.stdout != "held\n" {
		t.Errorf("%q", r.stdout)
	}
	weak := newBox(t, script)
	weak.filter = []byte(passesAll)
	if r = weak.run(t); !r.status.Signaled() || r.status.Signal() != unix.SIGKILL {
		t.Errorf("the attack is dead: init ended with %v", r.status)
	}
}
