package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// A large workspace is inspected twice: a part before the response, which must not wait, and the rest after it. A look
// is bounded by its processor time, because other children cannot influence that. Its elapsed time is bounded too, in
// case the file system is slow.
var (
	BeforeAnswer = tree.Bounds{Entries: 50_000, Processor: 50 * time.Millisecond, Time: 250 * time.Millisecond}
	AfterAnswer  = tree.Bounds{Processor: 5 * time.Second, Time: time.Minute, Humble: true}
)

// Turn lets the runs of one outbox inspect their leftovers one at a time. After each look it pauses for as long as the
// look used a processor, so an outbox uses at most half a processor for it.
type Turn struct {
	turn  chan struct{}
	until time.Time // the end of the pause; only the owner of the turn uses it
}

// NewTurn returns a turn that is free.
func NewTurn() *Turn { return &Turn{turn: make(chan struct{}, 1)} }

// Begin waits for the turn. It returns false if ctx is done first.
func (p *Turn) Begin(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	pause := time.NewTimer(time.Until(p.until))
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		<-p.turn
		return false
	}
}

// End gives the turn back.
func (p *Turn) End(cost time.Duration) {
	p.until = time.Now().Add(cost)
	<-p.turn
}

// Report puts the findings into sentences. It quotes the names, because the child has chosen them.
func Report(f tree.Findings) (said []string) {
	for _, kind := range []struct {
		found tree.Finding
		what  string
	}{
		{f.Cleared, "set-id files, whose set-id bits were taken away"},
		{f.SetID, "set-id files, which were left as they are because they have names elsewhere or belong to another user"},
		{f.Devices, "device files"},
		{f.FIFOs, "named pipes"},
		{f.Sockets, "sockets"},
		{f.Links, "symbolic links that may lead out of it"},
	} {
		if kind.found.Count > 0 {
			said = append(said, fmt.Sprintf("There are %s in the workspace: %s.", kind.what, listed(kind.found)))
		}
	}
	if !f.Whole() {
		said = append(said, fmt.Sprintf("Only a part of the workspace, %d entries, was looked at for set-id files, devices, pipes, sockets and links.", f.Entries))
	}
	return said
}

func listed(f tree.Finding) string {
	names := make([]string, len(f.Names))
	for i, name := range f.Names {
		names[i] = delegation.QuoteName(name)
	}
	list := strings.Join(names, ", ")
	if more := f.Count - int64(len(names)); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
