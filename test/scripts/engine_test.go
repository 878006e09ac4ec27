package scripts

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// engine is `scripts/engine run sh -c script` with its standard output, in a session of its own.
func engine(t *testing.T, script string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	run := exec.Command("../../scripts/engine", "run", "sh", "-c", script)
	run.Env = append(os.Environ(), env...)
	run.Stderr = os.Stderr
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	return run, bufio.NewReader(out)
}

// private leaves out what this machine cannot show.
func private(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("NOT SHOWN HERE: -short leaves the real engine out")
	case runtime.GOOS == "linux" && os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("a private engine needs root on Linux")
	default:
		t.Skip("NOT SHOWN HERE: a private engine needs root on Linux")
	}
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	return strings.TrimSpace(text)
}

// ended waits for the script and returns its exit code, -1 for a signal.
func ended(t *testing.T, run *exec.Cmd, out io.Reader) int {
	t.Helper()
	io.Copy(io.Discard, out)
	var exit *exec.ExitError
	if err := run.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return run.ProcessState.ExitCode()
}

// gone waits until a private engine has left no directory, no mount and no process.
func gone(t *testing.T, dir string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = leftovers(t, dir); len(left) == 0 {
			return
		}
	}
	t.Errorf("the engine left behind: %v", left)
}

func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	var left []string
	if _, err := os.Lstat(dir); err == nil {
		left = append(left, dir)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir+"/") {
		left = append(left, "mounts in "+dir)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if command, err := os.ReadFile(process); err == nil && strings.Contains(string(command), dir) {
			left = append(left, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return left
}

// where tells the test the directory of the private engine.
const where = `echo "${DOCKER_HOST#unix://}"; `

func TestPrivateEngineGoesWithTheCommand(t *testing.T) {
	private(t)
	run, out := engine(t, where+`echo $TORNO_ENGINE; test -s "$TORNO_ENGINE_LOG" && exit 42`, "TORNO_ENGINE=private")
	dir := filepath.Dir(line(t, out))
	if kind := line(t, out); kind != "private" {
		t.Errorf("TORNO_ENGINE=%s", kind)
	}
	if code := ended(t, run, out); code != 42 {
		t.Errorf("exit %d, want the command's 42", code)
	}
	gone(t, dir)
}

func TestSignalReachesTheCommandAndTheEngineGoes(t *testing.T) {
	private(t)
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: 7, syscall.SIGINT: 8, syscall.SIGKILL: -1} {
		run, out := engine(t, `trap 'exit 7' TERM; trap 'exit 8' INT; `+where+`while [ -S "${DOCKER_HOST#unix://}" ]; do sleep 0.02; done`,
			"TORNO_ENGINE=private")
		dir := filepath.Dir(line(t, out))
		if err := run.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := ended(t, run, out); code != want {
			t.Errorf("%v: exit %d, want %d", signal, code, want)
		}
		gone(t, dir)
	}
}

func TestGivenEngineIsUsedAsItIs(t *testing.T) {
	var asked []string
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		io.WriteString(w, "OK")
	})}
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	run, out := engine(t, `echo "$TORNO_ENGINE $DOCKER_HOST"`, "TORNO_ENGINE=", "DOCKER_HOST=unix://"+socket)
	if got, want := line(t, out), "given unix://"+socket; got != want {
		t.Errorf("the command saw %q, want %q", got, want)
	}
	if code := ended(t, run, out); code != 0 {
		t.Errorf("exit %d", code)
	}
	server.Close()
	<-served
	if len(asked) != 1 || asked[0] != "GET /_ping" {
		t.Errorf("the engine was asked %v", asked)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"run", "--optional"}, {"walk", "true"}} {
		run := exec.Command("../../scripts/engine", args...)
		if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != 64 || !strings.Contains(string(out), "usage") {
			t.Errorf("engine %v = %v, %s", args, err, out)
		}
	}
	run := exec.Command("../../scripts/need", "a-miracle")
	out, err := run.CombinedOutput()
	if run.ProcessState.ExitCode() != 64 {
		t.Errorf("need a-miracle = %v, %s", err, out)
	}
}
