package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"torno/internal/gateway/control"
	"torno/internal/gateway/setup"
	"torno/internal/retry"
	"torno/internal/version"
)

// Supervisor looks after one gateway. Only one goroutine at a time may call Look, Run and End.
type Supervisor struct {
	State   string                 // the gateway's directory
	Setup   []byte                 // its routes and prices
	User    int                    // the user for a gateway that we start, if it differs from ours; 0 means ours
	Program func() (string, error) // finds the program to start; nil where something else runs the gateway
	Client  *control.Client
	Log     *slog.Logger
	Trouble func(error)          // gets the current trouble with the gateway, and nil when it is over
	Looked  func(control.Status) // gets the status after each successful look; may be nil
	Every   time.Duration
	// Patience bounds the time of a whole look; 0 means Patience, the constant.
	Patience time.Duration

	tries   int         // failed looks since the last successful one
	known   int         // the process whose version was compared already
	child   *os.Process // the gateway that was started last
	started chan error  // gets the gateway's end; nil while we have started none
}

// Patience is usually enough for an answer, and for a new gateway to start.
const Patience = 10 * time.Second

// Run calls Look again and again until ctx ends.
func (s *Supervisor) Run(ctx context.Context) {
	for {
		pause := s.Every
		if s.tries > 0 {
			pause = retry.Backoff(s.tries)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case err := <-s.started:
			s.sayEnd(err)
		}
		s.Look(ctx)
	}
}

// Lives reports whether a gateway that Look started is alive, even if it does not answer yet.
func (s *Supervisor) Lives() bool { return s.started != nil && len(s.started) == 0 }

// End ends the gateway. If Look started it, it is dead when End returns.
func (s *Supervisor) End(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, cmp.Or(s.Patience, Patience))
	defer cancel()
	_, err := s.Client.Stop(asking)
	if s.started == nil {
		if errors.Is(err, control.ErrNoGateway) {
			return nil
		}
		return err
	}
	if err == nil {
		select {
		case <-s.started: //nolint:errcheck // this end was asked for
			s.started = nil
			return nil
		case <-asking.Done():
			err = asking.Err()
		}
	}
	if kill := s.child.Kill(); kill != nil && !errors.Is(kill, os.ErrProcessDone) {
		return errors.Join(err, kill)
	}
	<-s.started //nolint:errcheck // it was killed
	s.started = nil
	return nil
}

// Look makes the gateway serve our routes, and reports any trouble.
func (s *Supervisor) Look(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, cmp.Or(s.Patience, Patience))
	defer cancel()
	err := s.look(asking)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.tries = 0
		s.Trouble(nil)
	default:
		if s.tries++; s.tries > 1 {
			retry.Warn(s.Log, "look after the model gateway", s.tries, err)
		}
		s.Trouble(err)
	}
}

func (s *Supervisor) look(ctx context.Context) error {
	status, err := s.Client.Status(ctx)
	if errors.Is(err, control.ErrNoGateway) && s.Program != nil {
		status, err = s.start(ctx)
	} else if err == nil {
		err = s.write()
	}
	if err != nil {
		return err
	}
	s.compare(status)
	if status.Setup != control.Digest(s.Setup) {
		if status, err = s.Client.Configure(ctx, s.Setup); err != nil {
			return fmt.Errorf("tell the model gateway its routes: %w", err)
		}
		s.Log.Info("the model gateway was told its routes", "routes", status.Routes, "process", status.Process)
	}
	if s.Looked != nil {
		s.Looked(status)
	}
	return nil
}

// write stores routes and prices on the disk if the gateway has another user. Its warden reads a route's credential
// only if the route is in that file, so the gateway itself must not write it.
func (s *Supervisor) write() error {
	if s.User == 0 {
		return nil
	}
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return fmt.Errorf("make the model gateway's directory: %w", err)
	}
	if text, err := setup.Read(filepath.Join(s.State, setup.FileName)); err == nil && bytes.Equal(text, s.Setup) {
		return nil
	}
	if err := setup.Write(s.State, s.Setup); err != nil {
		return fmt.Errorf("write the model gateway's routes down: %w", err)
	}
	return nil
}

// compare warns, once for each process, if we would now start the gateway with another version or user.
func (s *Supervisor) compare(status control.Status) {
	if status.Process == s.known {
		return
	}
	s.known = status.Process
	if ours := version.String(); status.Version != ours {
		s.Log.Warn("the model gateway is of another version; send it SIGTERM: it ends after its answers under way, and is started again",
			"process", status.Process, "version", status.Version, "ours", ours)
	}
	if s.Program != nil && s.User != 0 && status.User != s.User {
		s.Log.Warn("the model gateway runs as another user than it gets now; send it SIGTERM: it ends after its answers under way, and the watcher starts it again",
			"process", status.Process, "user", status.User, "next", s.User)
	}
}
