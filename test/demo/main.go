// Command demo shows the whole road once, and holds it to what it promises: on a Docker engine where one answers, and
// otherwise with gVisor, where the agent lives in a sandbox of gVisor, too.
//
// An agent that is shut in (no network, no capabilities, no engine's socket, only the outbox) has seven children: three at
// once, one that it cancels, one whose time is up, one that is refused because it asked for /etc, and one that is an agent itself and
// talks to a model (talk.go) through the gateway. The model is a stand-in, which needs no key of yours and no network. The agent is this
// same program, built again without cgo and started with the argument "parent"; see parent.go, which is also how one uses
// package manager.
//
// With the argument "agents" it is the same with real agents: Claude Code in a sandbox delegates by the tools of subagent mcp to a Codex and
// a Claude Code in sandboxes; see agents.go.
//
// With the argument "sidecar" the watcher is a container, too, as contrib/sidecar makes it; see sidecar.go.
//
// The demo prints what happened and how long each part took, then compares what was on the machine before and after. It
// ends with 1 when anything ended differently from what is written in play.go, or when anything of it is left.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"torno/test/agents"
)

// patience bounds a demo, which takes some seconds.
const patience = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "agents" {
		return demoAgents(ctx, newPage(os.Stdout))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case len(args) == 1 && args[0] == "sidecar":
		return demo(ctx, newPage(os.Stdout), "The watcher is a container beside the agent's, and alone has the engine's socket.", performSidecar)
	case len(args) == 1 && args[0] == "parent":
		return parent(ctx, "", os.Stdout)
	case len(args) == 2 && args[0] == "parent":
		return parent(ctx, args[1], os.Stdout)
	case len(args) == 2 && args[0] == "talk":
		return talk(args[1], os.Stdout)
	case len(args) != 0:
		return errors.New("usage: go run ./test/demo [agents|sidecar]")
	}
	return demo(ctx, newPage(os.Stdout), "An agent that is shut in has children. Nothing but files crosses the wall.", perform)
}

// demoAgents fetches the real agents, for which there is more time, and then is a demo like the other one.
func demoAgents(ctx context.Context, p *page) error {
	p.say("Claude Code and Codex come from npm, into your cache; the first time that takes minutes.")
	installed, err := agents.Fetched(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return demo(ctx, p, "A real agent that is shut in delegates to real agents. Their models are a stand-in.", performAgents(installed))
}

// performance is a play with all that is set up for it. It returns the marks of all that was made.
type performance func(context.Context, *engine, *page) (marks []string, err error)

// demo looks around, performs, clears up and looks around again.
func demo(ctx context.Context, p *page, title string, play performance) error {
	e, away := dialEngine(ctx)
	if away != nil {
		e = nil
	}
	begin := time.Now()
	before, err := look(ctx, e)
	if err != nil {
		return err
	}
	p.title(title, e, away)
	marks, failed := play(ctx, e, p)
	// What is left must be told also when the demo was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	after, err := look(ctx, e)
	if err != nil {
		return errors.Join(failed, err)
	}
	left := p.compare(before, after, marks, e != nil && e.private)
	p.end(time.Since(begin), failed == nil && left == nil)
	return errors.Join(failed, left)
}
