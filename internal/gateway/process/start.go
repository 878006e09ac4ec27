package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"torno/internal/gateway/control"
	"torno/internal/logfile"
	"torno/internal/retry"
)

// LogName is the name of the gateway's log in its state directory.
const LogName = "log"

// start starts a gateway and waits until it answers.
func (s *Supervisor) start(ctx context.Context) (control.Status, error) {
	if err := mayDial(); err != nil {
		return control.Status{}, err
	}
	program, err := s.Program()
	if err != nil {
		return control.Status{}, err
	}
	if err := s.write(); err != nil {
		return control.Status{}, err
	}
	old := s.started != nil // an earlier gateway has just ended, or is still starting
	if !old {
		if err := s.spawn(program); err != nil {
			return control.Status{}, err
		}
	}
	for {
		status, err := s.Client.Status(ctx)
		if err == nil {
			s.Log.Info("the model gateway serves", "process", status.Process, "program", program, "log", filepath.Join(s.State, LogName))
			return status, nil
		}
		select {
		case ended := <-s.started:
			if !old {
				s.started = nil
				return control.Status{}, fmt.Errorf("the model gateway ended at its start: %w; it says %q", ended, s.lastLine())
			}
			s.sayEnd(ended)
			old = false
			if err := s.spawn(program); err != nil {
				return control.Status{}, err
			}
		default:
		}
		if retry.Pause(ctx, retry.Later) != nil {
			return control.Status{}, fmt.Errorf("the model gateway, process %d, does not answer: %w", s.child.Pid, err)
		}
	}
}

// sayEnd logs that a gateway ended that had started well.
func (s *Supervisor) sayEnd(err error) {
	s.started = nil
	s.Log.Warn("the model gateway has ended", "error", err)
}

// spawn starts the program apart from this process: in a session of its own, with only its log open. No context of ours
// ends it.
func (s *Supervisor) spawn(program string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the model gateway: %w", err)
		}
	}()
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.State, LogName)
	log, err := logfile.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"serve", "--state", s.State, "--log", path}
	if s.User != 0 {
		args = append(args, "--user", strconv.Itoa(s.User))
	}
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir, cmd.Env = "/", environment(os.Environ())
	cmd.Stdout, cmd.Stderr = log.Handle(), log.Handle() // takes the output of a crash
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	s.child, s.started = cmd.Process, ended
	go func() {
		if err := cmd.Wait(); err != nil {
			ended <- err
			return
		}
		ended <- errors.New("exit status 0")
	}()
	return nil
}

// ours are variables that a service manager sets for the watcher only.
var ours = []string{"NOTIFY_SOCKET", "STATE_DIRECTORY", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM"}

// environment returns the watcher's environment without the variables in ours, because a command that prints a
// credential may need any other variable.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	})
}

// lastLine returns the last line of the gateway's log.
func (s *Supervisor) lastLine() string {
	file, err := os.Open(filepath.Join(s.State, LogName))
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > 4096 {
		_, _ = file.Seek(-4096, io.SeekEnd) // if this fails, an early line is reported instead of the last
	}
	text, _ := io.ReadAll(io.LimitReader(file, 4096))
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

// mayDial fails if this service may not use the network, because a gateway that it starts could not use it either.
func mayDial() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if errors.Is(err, syscall.EAFNOSUPPORT) {
		return errors.New("this service and its programs may not use the network: run the model gateway as a service of its own " +
			"(contrib/systemd/torno-gateway.service), and name its directory in gateway.state")
	}
	if err != nil {
		return nil //nolint:nilerr // for other errors, the gateway's own message is better
	}
	return syscall.Close(fd)
}
