package adapter_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/agent"
	"torno/internal/initproc"
	"torno/test/massgen"
	"torno/test/wait"
)

// asInit has the test's own program be sandbox-init.
const asInit = "TORNO_TEST_AS_INIT=1"

// asMassGen has it be the stand-in for MassGen.
const asMassGen = "TORNO_TEST_AS_MASSGEN"

func TestMain(m *testing.M) {
	if os.Getenv(asMassGen) != "" {
		os.Exit(massgen.Main(os.Args))
	}
	if os.Getenv("TORNO_TEST_AS_INIT") != "" {
		os.Exit(initproc.Main(append([]string{"sandbox-init"}, os.Args[1:]...)))
	}
	os.Exit(m.Run())
}

// What agents say, as a shell's words.
const (
	claudeSays   = `printf '%s\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}'`
	claudeEnds   = `printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"the answer"}'`
	claudeFails  = `printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"result":"no\nmoney"}'`
	codexAnswers = `printf '%s\n' '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"the answer"}}'; printf '%s\n' '{"type":"turn.completed","usage":{}}'`
)

// rig is an adapter with a shell script as its agent, in a directory of its own.
type rig struct {
	*testing.T

	dir    string
	cmd    *exec.Cmd
	stdout *os.File
	output []byte // what was read of it
}

// newRig makes one of an agent of this name. The script finds its directory in $D.
func newRig(t *testing.T, name, script string, flags ...string) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir()}
	r.plant("task", "do it", 0o600)
	r.plant(name, "#!/bin/sh\n"+script+"\n", 0o700)
	r.plant("stderr", "", 0o600)
	args := append([]string{"agent", name, "--task", r.in("task"), "--answer", r.in("answer")}, flags...)
	if !strings.Contains(strings.Join(flags, " "), "--") {
		args = append(args, "--", r.in(name))
	}
	r.cmd = exec.Command(os.Args[0], args...)
	r.cmd.Env = []string{asInit, "D=" + r.dir, "PATH=" + r.dir + ":/usr/bin:/bin"}
	r.cmd.Dir = r.dir
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := os.OpenFile(r.in("stderr"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stderr.Close() })
	r.cmd.Stderr = stderr
	return r
}

func (r *rig) in(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) plant(name, content string, mode os.FileMode) {
	r.Helper()
	if err := os.WriteFile(r.in(name), []byte(content), mode); err != nil {
		r.Fatal(err)
	}
}

// read is a file's content, "" where there is none.
func (r *rig) read(name string) string {
	r.Helper()
	data, err := os.ReadFile(r.in(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	return string(data)
}

func (r *rig) start() *rig {
	r.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Now().Add(wait.Patience)); err != nil {
		r.Fatal(err)
	}
	r.cmd.Stdout, r.stdout = write, read
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	write.Close()
	r.Cleanup(func() {
		read.Close()
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // what a test has left
	})
	return r
}

// until reads until the adapter has said a text.
func (r *rig) until(text string) {
	r.Helper()
	r.untilTimes(1, text)
}

// untilTimes reads until the adapter has said a text so many times since it began.
func (r *rig) untilTimes(times int, text string) {
	r.Helper()
	buf := make([]byte, 64<<10)
	for bytes.Count(r.output, []byte(text)) < times {
		n, err := r.stdout.Read(buf)
		r.output = append(r.output, buf[:n]...)
		if err != nil {
			r.Fatalf("it has not said %q %d times: %v\n%s\n%s", text, times, err, r.output, r.read("stderr"))
		}
	}
}

// wait is the exit code, and all that the adapter has told.
func (r *rig) wait() (code int, told []agent.Line) {
	r.Helper()
	rest, err := io.ReadAll(r.stdout)
	if err != nil {
		r.Fatal(err)
	}
	err = r.cmd.Wait()
	if state := r.cmd.ProcessState; err != nil && !state.Exited() {
		r.Fatalf("it ended with %v", state)
	}
	for line := range bytes.Lines(append(r.output, rest...)) {
		l, err := agent.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			r.Fatalf("%q: %v", line, err)
		}
		told = append(told, l)
	}
	return r.cmd.ProcessState.ExitCode(), told
}

func (r *rig) run() (code int, told []agent.Line) {
	r.Helper()
	return r.start().wait()
}

// last is the result, which comes last.
func (r *rig) last(told []agent.Line) agent.Line {
	r.Helper()
	if len(told) == 0 || told[len(told)-1].Kind != agent.Result {
		r.Fatalf("%+v do not end with a result; %s", told, r.read("stderr"))
	}
	return told[len(told)-1]
}
