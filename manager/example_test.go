package manager_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"torno/delegation"
	"torno/manager"
)

// A parent has two tasks done at the same time and reads what came of them.
func Example() {
	ctx := context.Background()
	m, err := manager.New("/outbox", manager.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	var runs []*manager.Run
	for _, task := range []string{"go vet ./...", "go test ./..."} {
		run, err := m.Spawn(ctx, manager.SpawnOptions{
			Task: task, Timeout: 10 * time.Minute, ContextPaths: []string{"/src"},
		})
		if errors.Is(err, manager.ErrNobodyServing) {
			log.Fatal("start `watcher run` on the host")
		}
		if err != nil {
			log.Fatal(err)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		result, err := run.Wait(ctx)
		switch {
		case err != nil:
		case result.Completed():
			fmt.Printf("%s: %q\n", result.SubagentID, result.Answer)
		default:
			fmt.Printf("%s: %s, %q\n", result.SubagentID, result.Reason, result.StderrTail)
		}
		if err == nil {
			err = run.Acknowledge(result) // it was printed: from here on it is taken
		}
		if err != nil {
			log.Print(err)
		}
	}
}

// Live output of a run that another process started.
func ExampleRun_Events() {
	ctx := context.Background()
	m, err := manager.New("/outbox", manager.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	run, err := m.Attach("sub_1a2b3c4d")
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range run.Events(ctx, 1, true) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Type == delegation.EventStdout {
			fmt.Printf("%q\n", event.Output())
		}
	}
}
