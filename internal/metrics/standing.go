package metrics

import (
	"context"
	"strings"
	"time"

	"torno/internal/control"
)

// askBudget is how long a collector of numbers waits for the watcher, or for the gateway, to answer.
const askBudget = 5 * time.Second

// standing holds the numbers from the watcher's status.
type standing struct {
	up, started, places, running, runningMost, queued, queuedMost, trouble, held, ready, wanted, memory *family
}

func newStanding() standing {
	gauge := func(name, help string, labels ...string) *family { return newFamily("gauge", name, help, labels...) }
	return standing{
		up:          gauge("up", "1 if the watcher reports its status.", "version"),
		started:     gauge("start_time_seconds", "When the watcher began."),
		places:      gauge("places_max", "How many runs of all outboxes may have a place."),
		running:     gauge("runs_running", "Runs that have a place.", "outbox"),
		runningMost: gauge("runs_running_max", "How many runs may have a place.", "outbox"),
		queued:      gauge("runs_queued", "Runs that wait.", "outbox"),
		queuedMost:  gauge("runs_queued_max", "How many runs may wait.", "outbox"),
		trouble:     gauge("outbox_trouble", "1 if an outbox is not served as it should be.", "outbox"),
		ready:       gauge("sandboxes_ready", "Sandboxes that were made ahead of runs.", "outbox", "profile"),
		wanted:      gauge("sandboxes_wanted", "Sandboxes that should be ready.", "outbox", "profile"),
		memory:      gauge("sandboxes_ready_bytes", "The memory of the ready sandboxes, as their control groups count it.", "outbox", "profile"),
		held:        gauge("held_up", "1 for each notice of a problem that keeps the watcher from its work.", "by", "outbox"),
	}
}

// writeStanding asks for the status once, and writes its numbers. If the watcher does not answer, it writes only up 0.
func (m *Metrics) writeStanding(ctx context.Context, to *strings.Builder) {
	ctx, cancel := context.WithTimeout(ctx, askBudget)
	defer cancel()
	now := newStanding()
	status, err := m.source.Status(ctx)
	if err != nil {
		now.up.add(0, "")
		now.up.write(to)
		return
	}
	now.up.add(1, status.Version)
	now.started.add(float64(status.StartedAt.UnixMilli()) / 1000)
	now.places.add(float64(status.MaxRunning))
	for _, box := range status.Outboxes {
		if outbox := among(m.source.Outboxes, box.Name); outbox != other {
			now.box(box, outbox)
		}
	}
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			now.shelf(shelf, among(m.source.Outboxes, shelf.Outbox), among(m.source.Profiles, shelf.Profile))
		}
	}
	for _, f := range []*family{
		now.up, now.started, now.places, now.running, now.runningMost, now.queued, now.queuedMost, now.trouble, now.held, now.ready, now.wanted, now.memory,
	} {
		f.write(to)
	}
}

// shelf adds the numbers of one shelf. An outbox and a profile have one shelf for each set of prefixes, and the sum
// counts.
func (now standing) shelf(s control.Shelf, outbox, profile string) {
	now.ready.add(float64(s.Ready), outbox, profile)
	now.wanted.add(float64(s.Wanted), outbox, profile)
	now.memory.add(float64(s.Memory), outbox, profile)
}

func (now standing) box(box control.OutboxStatus, outbox string) {
	now.running.add(float64(box.Running), outbox)
	now.runningMost.add(float64(box.MaxRunning), outbox)
	now.queued.add(float64(box.Queued), outbox)
	now.queuedMost.add(float64(box.MaxQueued), outbox)
	trouble := 0.0
	if box.Trouble != "" {
		trouble = 1
	}
	now.trouble.add(trouble, outbox)
	said := map[string]bool{}
	for _, notice := range box.Notices {
		if by := string(notice.Code); !said[by] {
			said[by] = true
			now.held.add(1, by, outbox)
		}
	}
}
