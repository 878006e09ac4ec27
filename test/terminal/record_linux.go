package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds what a session waits for.
const patience = time.Minute

// recorder types a session into a shell of its own, on a terminal of its own.
type recorder struct {
	dir, programs string
	screen        *os.File // the side of the terminal that a person looks at
	terminal      *os.File // the side that programs have
	said          chan []byte
	watchers      []*exec.Cmd
}

// record plays a script and notes what happens. A line with & at its end goes on behind the others, and has made an outbox when the next is typed.
func record(script, programs string, out io.Writer) (err error) {
	programs, err = filepath.Abs(programs)
	if err != nil {
		return err
	}
	r := &recorder{dir: "/tmp/torno", programs: programs, said: make(chan []byte, 1000)} // the picture shows this path
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return fmt.Errorf("make the session's directory: %w", err)
	}
	defer os.RemoveAll(r.dir)
	if err := os.MkdirAll(filepath.Join(r.dir, "project"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "project/README"), []byte("teh walls hold\n"), 0o644); err != nil { //nolint:misspell // the session mends it
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	defer r.end()
	for line := range strings.Lines(script) {
		if err := r.types(strings.TrimSpace(line), out); err != nil {
			return err
		}
	}
	return nil
}

// open makes the terminal, and has what is printed on it arrive.
func (r *recorder) open() (err error) {
	if r.screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return err
	}
	number, err := unix.IoctlGetInt(int(r.screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(r.screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(r.screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err == nil {
		r.terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return fmt.Errorf("make a terminal: %w", err)
	}
	go func() {
		for {
			buffer := make([]byte, 4096)
			n, err := r.screen.Read(buffer)
			if err != nil {
				return // it was closed
			}
			r.said <- buffer[:n]
		}
	}()
	return nil
}

// shell is a bash that types a line.
func (r *recorder) shell(line string) *exec.Cmd {
	c := exec.Command("bash", "-c", line)
	c.Dir = r.dir
	c.Env = []string{
		"PATH=" + r.programs + ":" + os.Getenv("PATH"), "HOME=" + r.dir, "XDG_STATE_HOME=" + filepath.Join(r.dir, "state"), "TERM=xterm",
		"DOCKER_HOST=unix://" + filepath.Join(r.dir, "no-engine"), "TORNO_OUTBOX=" + filepath.Join(r.dir, "outbox"),
	}
	c.Stdin, c.Stdout, c.Stderr = r.terminal, r.terminal, r.terminal
	return c
}

// types enters a line and notes what comes, until its program has ended and nothing more is on the way.
func (r *recorder) types(line string, out io.Writer) error {
	if err := write(out, event{Types: line}); err != nil || strings.HasPrefix(line, "#") {
		return err
	}
	began := time.Now()
	if background, goesOn := strings.CutSuffix(line, "&"); goesOn {
		return r.starts(background)
	}
	c := r.shell(line)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }() // a refusal is an exit code that the session shows
	var quiet <-chan time.Time
	for {
		select {
		case said := <-r.said:
			if err := write(out, event{After: int(time.Since(began).Milliseconds()), Says: string(said)}); err != nil {
				return err
			}
		case <-ended:
			ended, quiet = nil, time.After(100*time.Millisecond)
		case <-quiet:
			return nil
		case <-time.After(patience):
			return errors.Join(fmt.Errorf("%s does not end", line), c.Process.Kill())
		}
	}
}

func (r *recorder) starts(line string) error {
	c := r.shell("exec " + line)
	if err := c.Start(); err != nil {
		return err
	}
	r.watchers = append(r.watchers, c)
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, "outbox/watcher.json")); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not serve", line)
}

// end ends what was started, and removes what it has left.
func (r *recorder) end() {
	for _, c := range r.watchers {
		if c.Process.Signal(syscall.SIGTERM) == nil {
			_ = c.Wait() // the purge says if it has not ended
		}
	}
	if said, err := r.shellOut("watcher purge --dir ./outbox --yes"); err != nil {
		fmt.Fprintf(os.Stderr, "purge: %v\n%s", err, said)
	}
	_ = r.terminal.Close() // nothing was written by us
	_ = r.screen.Close()
}

func (r *recorder) shellOut(line string) ([]byte, error) {
	c := r.shell(line)
	c.Stdin, c.Stdout, c.Stderr = nil, nil, nil
	return c.CombinedOutput()
}
