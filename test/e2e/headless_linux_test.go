package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/house"
)

// away is one way in which a watcher without a configuration loses the terminal, or the pipe, that it speaks to.
type away struct {
	name string
	open func(t *testing.T) (ours, theirs *os.File)
	join func(*syscall.SysProcAttr)
	lose func(watcher *exec.Cmd, ours *os.File, lines *bufio.Reader) error
}

var ways = []away{
	{"a HUP", pipe, func(*syscall.SysProcAttr) {}, func(w *exec.Cmd, _ *os.File, _ *bufio.Reader) error { return w.Process.Signal(syscall.SIGHUP) }},
	{"two HUPs", pipe, func(*syscall.SysProcAttr) {}, func(w *exec.Cmd, _ *os.File, lines *bufio.Reader) error {
		if err := w.Process.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		if err := hears(lines, "stopping"); err != nil {
			return err
		}
		return w.Process.Signal(syscall.SIGHUP) // the shell's, after the kernel's
	}},
	{"its terminal closes", terminal, func(a *syscall.SysProcAttr) { a.Setsid, a.Setctty, a.Ctty = true, true, 2 }, closes},
	{"a terminal closes that is not its own", terminal, func(a *syscall.SysProcAttr) { a.Setsid = true }, closes},
	{"the reader of its log goes", pipe, func(*syscall.SysProcAttr) {}, closes},
}

func closes(_ *exec.Cmd, ours *os.File, _ *bufio.Reader) error { return ours.Close() }

// hears reads lines until one holds a text.
func hears(lines *bufio.Reader, text string) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil || strings.Contains(line, text) {
			return err
		}
	}
}

func pipe(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no terminal can be had: %v", err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// A watcher without a configuration ends with the terminal it was started from. It ends as after TERM: every request is
// answered, nothing is left, and its exit code is 0.
func TestNoWatcherStaysWithoutItsTerminal(t *testing.T) {
	house.NeedEngine(t)
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("NOT TESTED: these tests run where HUP is ignored, and so would the watcher")
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) { losesItsTerminal(t, way) })
	}
}

func losesItsTerminal(t *testing.T, way away) {
	t.Parallel()
	h := house.New(t, house.Plan{Later: true}) // the story starts another watcher than the house would
	ours, theirs := way.open(t)
	defer ours.Close()
	watcher := exec.Command(house.Program("watcher"), "run", "--dir", h.Outbox, "--state", h.State, "--sandbox", "docker")
	watcher.Stdout, watcher.Stderr, watcher.SysProcAttr = theirs, theirs, &syscall.SysProcAttr{}
	if way.join(watcher.SysProcAttr); watcher.SysProcAttr.Setctty {
		watcher.Stdin = theirs
	}
	h.Must(watcher.Start())
	h.Must(theirs.Close())
	exited := make(chan error, 1)
	go func() { exited <- watcher.Wait() }()
	t.Cleanup(func() { _ = watcher.Process.Kill() })
	lines := bufio.NewReader(ours)
	h.Must(hears(lines, "serving"))
	a := h.Submit(house.Ask{ID: "s1", Task: "trap 'echo bye; exit' INT TERM; touch ready; while :; do sleep 0.05; done"})
	h.Eventually("the child runs", func() bool { return h.Exists("workspaces/s1/ready") })
	h.Must(way.lose(watcher, ours, lines))
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("the watcher ended with %v", err)
		}
	case <-time.After(house.Patience):
		t.Fatal("the watcher stays")
	}
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	if !strings.Contains(resp.StdoutTail, "bye") {
		t.Errorf("the child was not asked to end, but killed: %q", resp.StdoutTail)
	}
}

// A watcher with a configuration is a service: it goes on where no program reads its log, and ends as it always does.
func TestAServiceOutlivesTheReaderOfItsLog(t *testing.T) {
	house.NeedEngine(t)
	h := house.New(t, house.Plan{Later: true})
	ours, theirs := pipe(t)
	watcher := exec.Command(house.Program("watcher"), "run", "--config", h.Config)
	watcher.Stderr = theirs
	h.Must(watcher.Start())
	t.Cleanup(func() { _ = watcher.Process.Kill() })
	h.Must(theirs.Close())
	h.Must(hears(bufio.NewReader(ours), "serving"))
	h.Must(ours.Close())
	h.Want(h.Run(house.Ask{ID: "s1", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Must(watcher.Process.Signal(syscall.SIGTERM))
	h.Must(watcher.Wait())
}
