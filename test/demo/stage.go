package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"torno/internal/control"
	"torno/manager"
)

// stage is everything that the demo sets up, in one temporary directory.
type stage struct {
	*page
	engine *engine // nil where none answers
	home   home
	parts  []part
	dir    string
	// programs is where its watcher and what belongs to that are built.
	programs string
	outbox   string
	serves   string // whom its watcher serves, where there are several
	owner    int    // the user of the outbox and of the parent
	log      *os.File
	watcher  *exec.Cmd
	ended    chan error // of the watcher
	door     *control.Client
	endings  []ending
	marks    []string // by which our things are known
	// installation is the watcher's, "" where none came up.
	installation string
	since        time.Time
	model        *http.Server // a stand-in for a model's upstream
	gateway      int          // the process of the model gateway; 0 where none is known
}

// perform sets up, plays, and takes everything away again. It returns the marks of all that was made.
func perform(ctx context.Context, e *engine, p *page) (marks []string, err error) {
	s, err := newStage(e, p)
	if err != nil {
		return nil, err
	}
	s.home = (container{s})
	if e == nil {
		s.home = box{s}
	}
	defer func() { err = s.strike(ctx, err); marks = s.marks }()
	for _, step := range []func(context.Context) error{s.build, s.layOut, s.openModel, s.startWatcher, s.findGateway, s.runParent, s.overlap, s.bill} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// newStage makes an empty stage.
func newStage(e *engine, p *page) (s *stage, err error) {
	s = &stage{page: p, engine: e, since: time.Now(), owner: 1000, parts: play(), ended: make(chan error, 1)}
	if os.Geteuid() != 0 {
		s.owner = os.Getuid()
	}
	if s.dir, err = os.MkdirTemp("", "torno-demo-"); err != nil {
		return nil, err
	}
	s.programs, s.outbox, s.marks = s.dir, s.path("outbox"), []string{filepath.Base(s.dir)}
	return s, nil
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// build builds the products as they are shipped, and this program as a static one for the parent.
func (s *stage) build(ctx context.Context) error {
	return goBuild(ctx, s.programs, "torno/cmd/watcher", "torno/cmd/sandbox-init", "torno/cmd/sandbox-keeper", "torno/cmd/model-gateway", "torno/test/demo")
}

// goBuild builds programs as they are shipped.
func goBuild(ctx context.Context, to string, programs ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", to}, programs...)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// layOut makes the outbox, which is its parent's, and the places that are the watcher's.
func (s *stage) layOut(context.Context) (err error) {
	for _, dir := range []string{s.outbox, filepath.Join(s.outbox, manager.Workspaces), s.path("state"), s.path("tmp"), s.path("run")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		for _, dir := range []string{s.outbox, filepath.Join(s.outbox, manager.Workspaces)} {
			if err := os.Chown(dir, s.owner, s.owner); err != nil {
				return err
			}
		}
	}
	s.log, err = os.Create(s.path("watcher.log"))
	return err
}

// command is one of the watcher's, with a temporary and a runtime directory of its own.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(s.programs, "watcher"), args...)
	c.Env = append(os.Environ(), "TMPDIR="+s.path("tmp"), "XDG_RUNTIME_DIR="+s.path("run"), "DOCKER_HOST="+s.engine.host())
	return c
}

// startWatcher starts the watcher and waits until it serves.
func (s *stage) startWatcher(ctx context.Context) error {
	begin := time.Now()
	watcher := s.command(context.WithoutCancel(ctx), "run", "--config", s.path("watcher.yaml"))
	watcher.Stdout, watcher.Stderr = s.log, s.log
	if err := watcher.Start(); err != nil {
		return err
	}
	s.watcher = watcher
	go func() { s.ended <- watcher.Wait() }()
	err := s.awaitWatcher(ctx, begin)
	if err != nil && ctx.Err() == nil {
		s.watcher = nil
	}
	return err
}

// awaitWatcher waits until the watcher serves. It fails when the context is over, or the watcher is.
func (s *stage) awaitWatcher(ctx context.Context, begin time.Time) error {
	s.door = control.Dial(s.path("state"))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, err := s.door.Status(ctx); err == nil {
			s.installation = status.Installation
			s.marks = append(s.marks, status.Installation, "torno-"+status.Installation[:8])
			s.page.watcher(s.serves, status, time.Since(begin))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.ended:
			return fmt.Errorf("the watcher ended at once: %w", err)
		case <-tick.C:
		}
	}
}

// overlap asks the watcher when the three ran, and shows how long each part took.
func (s *stage) overlap(ctx context.Context) error {
	var last, first time.Time
	for i := range helpers {
		run, err := s.door.Run(ctx, helper(i))
		if err != nil {
			return err
		}
		if run.Started.After(last) {
			last = run.Started
		}
		if first.IsZero() || run.Ended.Before(first) {
			first = run.Ended
		}
	}
	if !last.Before(first) {
		return fmt.Errorf("the last of the three began at %s, when the first had ended at %s", last, first)
	}
	s.together(first.Sub(last))
	s.timings(s.endings)
	return nil
}
