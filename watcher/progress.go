package watcher

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// listedWithin bounds how long readiness waits for the first listings. A parent whose file system hangs delays the
// others only that long.
const listedWithin = 10 * time.Second

// AwaitListings waits until each outbox was listed once or cannot be listed. After listedWithin it returns an error
// that names the outboxes still missing.
func (w *Watcher) AwaitListings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listedWithin)
	defer cancel()
	var slow []string
	for _, box := range w.boxes {
		select {
		case <-box.Listed():
			continue
		default:
		}
		select {
		case <-box.Listed():
		case <-ctx.Done():
			slow = append(slow, box.Name)
		}
	}
	if slow == nil {
		return nil
	}
	return fmt.Errorf("not listed yet: %s", strings.Join(slow, ", "))
}

// Turn goes once through everything that all runs need: the schedule's loop, the list of runs, and the notices. It
// returns an error if ctx ends first. Turn waits for no outbox, workspace, launcher or disk, so no parent and no engine
// can hold it up.
func (w *Watcher) Turn(ctx context.Context) error {
	for _, box := range w.boxes {
		w.schedule.Load(ctx, box.Name)
		w.notices.Of(box.Name)
	}
	w.runs.Running("")
	return ctx.Err()
}
