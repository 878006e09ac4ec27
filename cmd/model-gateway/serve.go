package main

import (
	"context"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"torno/internal/calendar"
	"torno/internal/cli"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/control"
	"torno/internal/gateway/credential"
	"torno/internal/logfile"
)

// serving is a gateway while it serves.
type serving struct {
	state, config string
	drain         time.Duration
	debug         bool

	logFile string

	user   int64              // run the gateway as this user, with a warden; 0: serve in this process
	apart  bool               // this process is that gateway, started by the warden
	access *credential.Access // asks the warden; nil if this process reads credentials itself

	known *credential.Known
	log   *slog.Logger
	g     *gateway.Gateway

	stop func()

	mu   sync.Mutex
	text []byte // the routes and prices in use
}

func (a *app) serveCommand() cli.Command {
	s := &serving{drain: 30 * time.Second, known: credential.NewKnown()}
	return cli.Command{
		Name: "serve", Brief: "serve the doors of runs",
		About: "Serves doors until it is stopped. After SIGTERM or SIGINT it lets answers under way end, for --drain at most. SIGHUP reads the " +
			"configuration again; a configuration with a mistake changes nothing. Without --config a watcher gives the routes over the control socket. The state directory keeps doors and budgets.",
		Examples: []string{"model-gateway serve --state ./gateway-state --config gateway.yaml"},
		Options: []cli.Option{
			{Name: "state", Value: "DIR", Help: "the directory for doors, budgets and the control socket; the gateway makes it, for this user only", Set: cli.Text(&s.state)},
			{Name: "config", Value: "FILE", Help: "routes and prices; without it a watcher gives them, and the gateway keeps the last ones", Set: cli.Text(&s.config)},
			{Name: "log", Value: "FILE", Help: "log into FILE instead of standard error; at 8 MiB the file becomes FILE.1", Set: cli.Text(&s.logFile)},
			{Name: "drain", Value: "TIME", Help: "how much time answers under way get when the gateway is stopped (30s)", Set: cli.Duration(&s.drain)},
			{Name: "user", Value: "UID", Help: "serve as this user, without any other rights; this process stays root, and reads the credentials for the gateway", Set: cli.Number(&s.user)},
			{Name: "apart", Help: "not for use by hand: --user starts the serving process with it", Set: cli.On(&s.apart)},
			{Name: "debug", Help: "log each exchange", Set: cli.On(&s.debug)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if len(args.All()) > 0 {
				return 0, cli.Usage("serve takes no operands")
			}
			if s.state == "" {
				return 0, cli.Usage("serve needs --state DIR")
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
			if err := s.logTo(to); err != nil {
				return 0, err
			}
			if s.user != 0 {
				return s.guard(ctx, to)
			}
			return exitOK, s.serve(ctx)
		},
	}
}

// logTo sets up the log, and closes this process's memory to others.
func (s *serving) logTo(to io.Writer) error {
	var err error
	if s.state, err = filepath.Abs(s.state); err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.debug {
		level = slog.LevelDebug
	}
	s.log = slog.New(slog.NewJSONHandler(scrubbing{to, s.known}, &slog.HandlerOptions{Level: level}))
	if err := closeCore(); err != nil {
		s.log.Warn("a core file of this process could hold credentials", "error", err)
	}
	return nil
}

// scrubbing removes every secret from all that is logged, whoever logs it.
type scrubbing struct {
	to    io.Writer
	known *credential.Known
}

func (s scrubbing) Write(p []byte) (int, error) {
	_, err := s.to.Write([]byte(s.known.Scrub(string(p))))
	return len(p), err
}

// serve holds the state directory, opens the earlier doors again, and serves until a signal ends it.
func (s *serving) serve(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	s.stop = stop
	// net/http logs bytes that an upstream sends between two answers, and those may be anything.
	stdlog.SetOutput(slog.NewLogLogger(s.log.Handler(), slog.LevelDebug).Writer())
	at, err := s.places(ctx, stop)
	if err != nil {
		return err
	}
	days := calendar.Open(at.budget, s.log)
	ledger, err := budget.Open(at.budget, days.Now)
	if err != nil {
		return err
	}
	defer func() {
		if err := ledger.Close(); err != nil {
			s.log.Error("the budgets could not be closed", "error", err)
		}
	}()
	s.g = gateway.New(gateway.Config{Dir: at.doors, Shown: filepath.Join(s.state, doorsName), Records: at.records, Caches: at.caches, Ledger: ledger, Calendar: days, Scrub: s.known.Scrub, Log: s.log})
	if err := s.load(ctx); err != nil && s.config != "" {
		return configError{err}
	} else if err != nil {
		s.log.Error("the last routes of the watcher cannot be used; there are no routes until a watcher gives them again", "error", err)
	}
	if err := s.g.Restore(); err != nil {
		return err
	}
	defer s.shut()
	go days.Loop(ctx)
	return s.answer(ctx, at.listen)
}

// answer serves the control socket until ctx ends.
func (s *serving) answer(ctx context.Context, listen func() (net.Listener, error)) error {
	listener, err := listen()
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
				s.reload(ctx)
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
