package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// strike takes away everything that was set up, also when the demo was interrupted. It adds what fails to what already did.
func (s *stage) strike(ctx context.Context, failed error) error {
	interrupted := errors.Is(ctx.Err(), context.Canceled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var left error
	if s.home != nil {
		left = s.home.leave(ctx)
	}
	left = errors.Join(left, s.stopWatcher(ctx), s.purge(ctx), s.closeModel(ctx), s.rememberContainers(ctx))
	explain := left != nil || failed != nil && !interrupted
	failed = errors.Join(failed, left)
	if explain && s.log != nil {
		if said, err := os.ReadFile(s.log.Name()); err == nil {
			failed = fmt.Errorf("%w\nthe watcher said:\n%s", failed, said)
		}
	}
	return errors.Join(failed, s.checkTemp(), os.RemoveAll(s.dir))
}

// stopWatcher ends the watcher as a service manager would. Where the play broke off, children may still run for which no process
// waits: told twice, the watcher kills them.
func (s *stage) stopWatcher(ctx context.Context) error {
	if s.watcher == nil {
		return nil
	}
	for range 2 {
		if err := s.watcher.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop the watcher: %w", err)
		}
		select {
		case err := <-s.ended:
			if err != nil {
				return fmt.Errorf("the watcher ended badly: %w", err)
			}
			return nil
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
	return errors.Join(errors.New("the watcher did not stop when it was told to"), s.watcher.Process.Kill(), <-s.ended)
}

// purge has the watcher remove what it keeps between runs.
func (s *stage) purge(ctx context.Context) error {
	if s.watcher == nil {
		return nil
	}
	out, err := s.command(ctx, "purge", "--yes", "--config", s.path("watcher.yaml")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("watcher purge: %w\n%s", err, out)
	}
	return nil
}

// rememberContainers adds every container that the watcher ever made to the marks: cgroups and mounts are named after them.
func (s *stage) rememberContainers(ctx context.Context) error {
	if s.installation == "" || s.engine == nil {
		return nil // the watcher never came up, or had no containers
	}
	ids, err := s.engine.containersMade(ctx, "torno.installation="+s.installation, s.since.Unix(), time.Now().Unix()+1)
	s.marks = append(s.marks, ids...)
	return err
}

// checkTemp says what the watcher left in its temporary and its runtime directory.
func (s *stage) checkTemp() error {
	var found []string
	for _, pattern := range []string{"tmp/*", "run/torno/*"} {
		names, err := filepath.Glob(s.path(pattern))
		if err != nil {
			return err
		}
		found = append(found, names...)
	}
	if len(found) > 0 {
		return fmt.Errorf("the watcher left temporary files: %s", strings.Join(found, ", "))
	}
	return nil
}
