package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"torno/internal/cli"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/control"
	"torno/internal/gateway/credential"
	"torno/internal/logfile"
)

// serving is one gateway that serves.
type serving struct {
	state, config string
	drain         time.Duration
	debug         bool

	logFile string

	known *credential.Known
	log   *slog.Logger
	g     *gateway.Gateway

	stop func()

	mu   sync.Mutex
	text []byte // of the routes and prices that count now
}

func (a *app) serveCommand() cli.Command {
	s := &serving{drain: 30 * time.Second, known: credential.NewKnown()}
	return cli.Command{
		Name: "serve", Brief: "serve the doors of runs",
		About: "Serves doors until it is stopped. SIGTERM and SIGINT let answers under way come to their end, for --drain at most; SIGHUP reads " +
			"the configuration again, and one that is not understood changes nothing. Without --config a watcher says the routes over the control socket. Doors and budgets last in the state directory.",
		Examples: []string{"model-gateway serve --state ./gateway-state --config gateway.yaml"},
		Options: []cli.Option{
			{Name: "state", Value: "DIR", Help: "where doors, budgets and the control socket lie; it is made, for this user only", Set: cli.Text(&s.state)},
			{Name: "config", Value: "FILE", Help: "routes and prices; without it a watcher says them, and what it said last counts", Set: cli.Text(&s.config)},
			{Name: "log", Value: "FILE", Help: "log here and not to standard error; at 8 MiB the file becomes FILE.1", Set: cli.Text(&s.logFile)},
			{Name: "drain", Value: "TIME", Help: "how long answers under way have when it is stopped (30s)", Set: cli.Duration(&s.drain)},
			{Name: "debug", Help: "log each exchange", Set: cli.On(&s.debug)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if len(args.All()) > 0 {
				return 0, cli.Usage("serve takes no operands")
			}
			if s.state == "" {
				return 0, cli.Usage("serve needs --state DIR")
			}
			level := slog.LevelInfo
			if s.debug {
				level = slog.LevelDebug
			}
			var to io.Writer = a.Errors
			if s.logFile != "" {
				file, err := logfile.Open(s.logFile)
				if err != nil {
					return 0, err
				}
				defer file.Close()
				to = file
			}
			s.log = slog.New(slog.NewJSONHandler(scrubbing{to, s.known}, &slog.HandlerOptions{Level: level}))
			return exitOK, s.serve(ctx)
		},
	}
}

// scrubbing takes every secret out of what is logged, whatever writes it.
type scrubbing struct {
	to    io.Writer
	known *credential.Known
}

func (s scrubbing) Write(p []byte) (int, error) {
	_, err := s.to.Write([]byte(s.known.Scrub(string(p))))
	return len(p), err
}

// serve holds the state directory, opens the doors that were there, and answers until a signal ends it.
func (s *serving) serve(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	s.stop = stop
	if err := closeCore(); err != nil {
		s.log.Warn("a core file of this process could hold credentials", "error", err)
	}
	// net/http logs what upstreams send between two answers, and that may be anything.
	stdlog.SetOutput(slog.NewLogLogger(s.log.Handler(), slog.LevelDebug).Writer())
	doors, err := s.directories()
	if err != nil {
		return err
	}
	ledger, err := budget.Open(filepath.Join(s.state, "budget"))
	if err != nil {
		return err
	}
	defer func() {
		if err := ledger.Close(); err != nil {
			s.log.Error("the budgets could not be closed", "error", err)
		}
	}()
	s.g = gateway.New(gateway.Config{Dir: doors, Records: filepath.Join(s.state, "records"), Ledger: ledger, Scrub: s.known.Scrub, Log: s.log})
	if err := s.load(); err != nil && s.config != "" {
		return configError{err}
	} else if err != nil {
		s.log.Error("what a watcher said last is not understood; there are no routes until it says them again", "error", err)
	}
	if err := s.g.Restore(); err != nil {
		return err
	}
	defer s.shut()
	return s.answer(ctx)
}

// answer serves the control socket until ctx ends.
func (s *serving) answer(ctx context.Context) error {
	listener, err := control.Listen(s.state)
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	go func() {
		for {
			select {
			case <-hangups:
				s.reload()
			case <-ctx.Done():
				return
			}
		}
	}()
	s.log.Info("serving", "state", s.state, "control", filepath.Join(s.state, control.SocketName), "routes", s.g.Routes(), "doors", len(s.g.Doors()))
	return control.Serve(ctx, listener, s.state, s.g, s, s.log)
}

func (s *serving) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	s.g.Shut(ctx)
	s.log.Info("stopped")
}

// directories makes what is needed of the state directory, which is closed to others: sockets lie in it that every process
// may open that reaches them.
func (s *serving) directories() (doors string, err error) {
	if s.state, err = filepath.Abs(s.state); err != nil {
		return "", err
	}
	doors = filepath.Join(s.state, "doors")
	if err := os.MkdirAll(doors, 0o700); err != nil {
		return "", err
	}
	for _, dir := range []string{s.state, doors} {
		info, err := os.Lstat(dir)
		if err != nil {
			return "", err
		}
		if err := closed(dir, info); err != nil {
			return "", err
		}
	}
	return doors, nil
}

func closed(dir string, info fs.FileInfo) error {
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return cli.Hint(fmt.Errorf("%s is open to other users", dir), "chmod 700 "+dir)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return cli.Hint(errors.New(dir+" belongs to another user"), "give this gateway a --state of its own")
	}
	return nil
}
