package manager

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"torno/delegation"
)

// MaxItems limits the number of subagents in a listing.
const MaxItems = 1000

// Item is the state of a subagent, as the outbox's files tell it.
type Item struct {
	SubagentID string
	RequestID  string
	State      delegation.State  // "" if the watcher did not say
	Status     delegation.Status // if there is a response
	Reason     delegation.Reason
	ExitCode   int
	Usage      *delegation.Usage // if a response has it
	Position   int               // in the queue, from 1
	ParentID   string            // the parent whose run's end also ends this run, as the watcher says; "" if there is none
	Depth      int               // its depth below a parent: 2 if that run has no parent itself

	Task         string // its beginning
	Workspace    string
	Timeout      time.Duration
	CreatedAt    time.Time
	RunningSince time.Time
	Deadline     time.Time
	StartedAt    time.Time // if there is a response, and something was started
	CompletedAt  time.Time // if there is a response

	Approvals []delegation.PendingApproval // the agent's questions that wait

	subagent delegation.SubagentID
}

// Listing holds the subagents whose result has not been taken yet, oldest first. Listings share data behind pointers in
// their items, so a caller must not change it.
type Listing struct {
	Items []Item
	More  bool // there are more than MaxItems
}

// errEnough ends a full listing, or a stream of events when the caller wants no more.
var errEnough = errors.New("enough")

// List reads the outbox's request files and the files that belong to them. It leaves out an unreadable request: the
// host responds to it, and it has no run to wait for. List reads a file that the last listing has read again only if
// the file may have changed.
func (m *Manager) List(ctx context.Context) (Listing, error) {
	var list Listing
	limit := m.requestLimit()
	before, now := m.lookedBefore(), map[string]looked{}
	err := m.dir.Names(ctx, 256, func(names []string) error {
		for _, name := range names {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found, ok := m.look(name, limit, before[name])
			if !ok {
				continue
			}
			if len(list.Items) == MaxItems {
				list.More = true
				return errEnough
			}
			now[name] = found
			list.Items = append(list.Items, found.item())
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Listing{}, err
	}
	m.looked.Store(&now)
	slices.SortFunc(list.Items, func(a, b Item) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.SubagentID, b.SubagentID)
	})
	return list, nil
}

// requestLimit returns the size of the longest request that this client reads. It is not below the usual limit of a
// watcher, because the watcher's limit may have been higher when it admitted a run.
func (m *Manager) requestLimit() int64 {
	beat, err := m.heartbeat()
	if err != nil {
		return usualRequest
	}
	return max(usualRequest, min(beat.Limits.RequestBytes, maxRequest))
}

// lookedBefore returns the files that the last listing has read, by the names of the request files.
func (m *Manager) lookedBefore() map[string]looked {
	if last := m.looked.Load(); last != nil {
		return *last
	}
	return nil
}

// asked returns the content of a request file, if the request is for the subagent in the file's name.
func (m *Manager) asked(id string, data []byte) (Item, error) {
	req, err := delegation.DecodeRequest(data)
	if err != nil {
		return Item{}, err
	}
	if req.SubagentID.String() != id {
		return Item{}, errors.New("the request belongs to another subagent")
	}
	run := m.runOf(req)
	return Item{
		SubagentID: id, RequestID: run.RequestID(), subagent: req.SubagentID,
		Task: strings.Clone(beginning(req.Task, 100)), Workspace: run.workspace, Timeout: run.timeout, CreatedAt: req.CreatedAt,
	}, nil
}

// beginning returns the first n characters of a text.
func beginning(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
