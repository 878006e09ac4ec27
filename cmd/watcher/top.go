package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

// topPause is the pause between two looks of top at the watcher.
const topPause = time.Second

// topRuns is how many runs top asks for.
const topRuns = 200

func (a *app) topCommand() cli.Command {
	return cli.Command{
		Name: "top", Brief: "watch running and waiting runs",
		About: `
Shows, once a second, the running and waiting runs, the limits, the spending, and the last lines of the chosen child. Up and down choose a
run. c ends it, as watcher cancel does. p shows its question and lets you decide. a also shows runs that have ended. q leaves. If standard
output is not a terminal, the command prints everything once, without the child's lines.`,
		Examples: []string{"watcher top", "watcher top --dir ./outbox | head"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("top", args); err != nil {
				return 0, err
			}
			state, err := a.stateDir(ctx)
			if err != nil {
				return 0, err
			}
			client := control.Dial(state)
			first := look(ctx, client, false)
			if first.err != nil {
				return 0, first.err
			}
			if a.JSON {
				return exitOK, a.Out.Object(map[string]any{"status": first.status, "runs": first.runs})
			}
			if !a.Out.Terminal || !cli.IsTerminal(a.In) {
				a.topOnce(first)
				return exitOK, nil
			}
			return exitOK, a.topLive(ctx, client, first)
		},
	}
}

// looked holds the findings of one look at the watcher.
type looked struct {
	status    control.Status
	runs      []control.Run
	questions []control.Question
	err       error
}

func look(ctx context.Context, s control.Service, all bool) (l looked) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if l.status, l.err = s.Status(ctx); l.err == nil {
		l.runs, l.err = s.Runs(ctx, control.Query{All: all, Limit: topRuns})
	}
	if l.err == nil {
		l.questions, l.err = s.Approvals(ctx)
	}
	return l
}

// plainWidth is the width if standard output is not a terminal: wide enough that nothing is cut.
const plainWidth = 1000

func (a *app) topOnce(l looked) {
	for _, line := range picture(snapshot{now: time.Now(), status: l.status, runs: l.runs, questions: l.questions}, plainWidth, 0) {
		fmt.Fprintln(a.Out, line.Text)
	}
}

// live is top on a terminal. One goroutine owns it; others send to its channels.
type live struct {
	service control.Service
	shown   snapshot
	width   int // of the terminal, as drawn last
	height  int
	all     bool
	looks   chan looked
	asked   chan bool // whether to show ended runs too from now on
	said    chan string
	follow  follower
}

func (a *app) topLive(ctx context.Context, service control.Service, first looked) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	screen, err := openScreen(a.In, a.Out)
	if err != nil {
		return err
	}
	defer screen.close()
	l := &live{service: service, looks: make(chan looked), asked: make(chan bool, 1), said: make(chan string, 1)}
	l.follow.changed = make(chan struct{}, 1)
	defer l.follow.stop()
	l.see(first)
	go l.keepLooking(ctx)
	for {
		l.shown.tail = l.follow.lines(ctx, service, l.shown.chosen)
		l.shown.now = time.Now()
		l.width, l.height = screen.size()
		screen.draw(l.shown, l.width, l.height)
		select {
		case <-ctx.Done():
			return nil
		case seen := <-l.looks:
			l.see(seen)
		case text := <-l.said:
			l.shown.said = text
		case <-l.follow.changed:
		case <-screen.resized:
		case key, open := <-screen.keys:
			if !open || l.press(ctx, key) {
				return nil
			}
		}
	}
}

// keepLooking looks at the watcher once a second, and at once when the operator switches ended runs on or off.
func (l *live) keepLooking(ctx context.Context) {
	tick := time.NewTicker(topPause)
	defer tick.Stop()
	all := false
	for {
		select {
		case <-ctx.Done():
			return
		case all = <-l.asked:
		case <-tick.C:
		}
		select {
		case l.looks <- look(ctx, l.service, all):
		case <-ctx.Done():
			return
		}
	}
}

// see takes over the findings of a look. The chosen run stays chosen as long as it is listed.
func (l *live) see(seen looked) {
	l.shown.trouble = ""
	if seen.err != nil {
		l.shown.trouble = seen.err.Error()
		return
	}
	l.shown.status, l.shown.runs, l.shown.questions = seen.status, seen.runs, seen.questions
	if q := l.shown.deciding; q != nil && !l.shown.waits(*q) {
		l.shown.deciding, l.shown.said = nil, "that question no longer waits"
	}
	if len(l.shown.runs) == 0 {
		l.shown.chosen, l.shown.asking = "", false
		return
	}
	if at := l.shown.runs[l.shown.at()].Key; at != l.shown.chosen {
		l.shown.chosen, l.shown.asking = at, false // drop the question: it was about the run that is gone
	}
}

// press acts on a key, and reports whether top is to end.
func (l *live) press(ctx context.Context, key topKey) (leave bool) {
	asking := l.shown.asking
	l.shown.said, l.shown.asking = "", false
	switch {
	case key == keyQuit:
		return true
	case l.shown.deciding != nil:
		l.pressDeciding(ctx, key)
	case asking && key == 'y':
		l.cancel(ctx)
	case asking:
	case key == 'q':
		return true
	case key == keyUp || key == 'k':
		l.choose(-1)
	case key == keyDown || key == 'j':
		l.choose(+1)
	case key == 'a':
		l.all = !l.all
		select {
		case l.asked <- l.all:
		default: // the earlier wish still waits to be read; the operator can press again
			l.all = !l.all
		}
	case key == 'p':
		if l.shown.deciding = l.shown.question(); l.shown.deciding == nil {
			l.shown.said = "the chosen run asks nothing"
		}
	case key == 'c':
		i := l.shown.at()
		l.shown.asking = i < len(l.shown.runs) && l.shown.runs[i].State != delegation.StateEnded
	}
	return false
}

func (l *live) choose(step int) {
	if n := len(l.shown.runs); n > 0 {
		l.shown.chosen = l.shown.runs[max(0, min(l.shown.at()+step, n-1))].Key
	}
}

// cancel ends the chosen run, and shows the result when the run is dead.
func (l *live) cancel(ctx context.Context) {
	key := l.shown.chosen
	l.shown.said = "cancelling " + key[:min(shownKey, len(key))]
	l.later(ctx, func() string {
		if _, err := l.service.Cancel(ctx, key); err != nil {
			return err.Error()
		}
		return "ended " + key[:min(shownKey, len(key))]
	})
}

// later runs do in the background, because it may take long, and then shows the text that do returns.
func (l *live) later(ctx context.Context, do func() string) {
	go func() {
		text := do()
		select {
		case l.said <- text:
		case <-ctx.Done():
		}
	}()
}
