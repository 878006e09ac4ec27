// Command demo shows the whole road once, and holds it to what it promises: on a Docker engine where one answers, and
// otherwise with gVisor, where the agent lives in a sandbox of gVisor, too.
//
// An agent that is shut in (no network, no capabilities, no engine's socket, only the outbox) has seven children: three at
// once, one that it cancels, one whose time is up, one that is refused because it asked for /etc, and one that is an agent itself and
// talks to a model (talk.go) through the gateway. The model is a stand-in, which needs no key of yours and no network. The agent is this
// same program, built again without cgo and started with the argument "parent"; see parent.go, which is also how one uses
// package manager.
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
)

// patience bounds the whole demo, which takes some seconds.
const patience = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "parent":
		return parent(ctx, args[1], os.Stdout)
	case len(args) == 2 && args[0] == "talk":
		return talk(args[1], os.Stdout)
	case len(args) != 0:
		return errors.New("usage: go run ./test/demo")
	}
	return demo(ctx, newPage(os.Stdout))
}

// demo looks around, performs, clears up and looks around again.
func demo(ctx context.Context, p *page) error {
	e, away := dialEngine(ctx)
	if away != nil {
		e = nil
	}
	begin := time.Now()
	before, err := look(ctx, e)
	if err != nil {
		return err
	}
	p.title(e, away)
	marks, failed := perform(ctx, e, p)
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
