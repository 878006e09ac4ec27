package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/cli"
	"torno/internal/gateway/control"
	"torno/internal/gateway/credential"
	"torno/internal/lock"
)

// Descriptors that the warden passes to its gateway, after the standard ones. The gateway has no others. It has no path
// into the state either, because the directories above are closed to its user.
const (
	asksFD   = 3 + iota // to the warden, which reads credentials
	listenFD            // the control socket
	doorsFD             // the state's directories
	budgetFD
	recordsFD
	cachesFD
)

// lastLines bounds the time in which the warden reads the last lines of a gateway that has ended.
const lastLines = 2 * time.Second

// wardenLock keeps a second warden out of the state directory.
const wardenLock = "warden.lock"

// guard starts the gateway as another user, and is its warden: it reads credentials for the gateway, writes the
// gateway's log, and passes signals on. It does not use the network. When the gateway ends, guard ends too, and the
// gateway ends with guard.
func (s *serving) guard(ctx context.Context, log io.Writer) (exit int, err error) {
	if os.Geteuid() != 0 || s.config != "" || s.user > math.MaxInt32 {
		return 0, cli.Usage("--user takes the number of a user, needs root, and does not go together with --config")
	}
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(asked)
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		return 0, err
	}
	if err := closed(s.state); err != nil {
		return 0, err
	}
	held, err := lock.In(s.state, wardenLock, fmt.Sprintf("process %d", os.Getpid()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	gateway, asks, lines, err := s.startApart()
	if err != nil {
		return 0, err
	}
	serving, stop := context.WithCancel(ctx)
	answered, logged := make(chan error, 1), make(chan struct{})
	said := saidIn(s.state)
	warden := &credential.Warden{Routes: said.Routes, Setup: said.Setup}
	go func() { answered <- warden.Serve(serving, asks) }()
	go func() { defer close(logged); copyLines(log, lines) }()
	ended := make(chan error, 1)
	go func() { ended <- gateway.Wait() }()
	err = s.passOn(asked, gateway.Process, ended)
	stop()
	asks.Close()
	_ = lines.SetReadDeadline(time.Now().Add(lastLines)) // the gateway may have given the other end to somebody
	<-logged
	lines.Close()
	if serve := <-answered; serve != nil {
		s.log.Warn("credentials could not be read for the gateway", "error", serve)
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(ended.ExitCode(), exitFailure), nil // the gateway has logged why
	}
	return exitOK, err
}

// passOn passes signals on to the gateway until the gateway ends.
func (s *serving) passOn(asked <-chan os.Signal, gateway *os.Process, ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			return err
		case sig := <-asked:
			if sig == os.Interrupt {
				sig = syscall.SIGTERM
			}
			_ = gateway.Signal(sig) // the gateway may have ended
		}
	}
}

// startApart starts this program again, as the gateway that serves. lines is the gateway's log.
func (s *serving) startApart() (gateway *exec.Cmd, asks *net.UnixConn, lines *os.File, err error) {
	var hand []*os.File
	defer func() {
		for _, f := range hand {
			f.Close()
		}
	}()
	asks, theirs, err := credential.Asks()
	if err != nil {
		return nil, nil, nil, err
	}
	hand = append(hand, theirs)
	defer func() {
		if err != nil {
			asks.Close()
		}
	}()
	var directories []*os.File
	for _, name := range []string{doorsName, budgetName, recordsName, cachesName} {
		dir, err := handOver(filepath.Join(s.state, name), uint32(s.user))
		if err != nil {
			return nil, nil, nil, fmt.Errorf("give %s to the gateway's user: %w", name, err)
		}
		hand, directories = append(hand, dir), append(directories, dir)
	}
	listener, err := control.ListenFor(s.state)
	if err != nil {
		return nil, nil, nil, err
	}
	hand = append(hand, listener)
	said, theirLog, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	hand = append(hand, theirLog)
	args := []string{"serve", "--apart", "--state", s.state, "--drain", s.drain.String()}
	if s.debug {
		args = append(args, "--debug")
	}
	gateway = exec.CommandContext(context.Background(), "/proc/self/exe", args...)
	gateway.Args[0] = os.Args[0]
	gateway.Dir, gateway.Env = "/", apartEnvironment()
	gateway.Stdout, gateway.Stderr = theirLog, theirLog
	gateway.ExtraFiles = append([]*os.File{theirs, listener}, directories...)
	gateway.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.user), Gid: uint32(s.user)}}
	if err := startWithoutPrivileges(gateway); err != nil {
		said.Close()
		return nil, nil, nil, fmt.Errorf("start the gateway as user %d: %w", s.user, err)
	}
	return gateway, asks, said, nil
}

// startWithoutPrivileges starts a program that cannot gain rights from a set-user-ID file. The kernel keeps that
// setting for a thread and the processes that it starts, so this thread is not used for anything else.
func startWithoutPrivileges(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// apartEnvironment returns the variables that a resolver, TLS and the Go runtime read. Any other variable may be a
// secret of the operator's.
func apartEnvironment() (env []string) {
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT", "GOTRACEBACK", "LANG", "LOCALDOMAIN", "RES_OPTIONS", "SSL_CERT_DIR", "SSL_CERT_FILE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
