package manager

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"torno/delegation"
)

// MaxItems is how many subagents a listing tells of.
const MaxItems = 1000

// Item is the state of a subagent, as the outbox's files tell it.
type Item struct {
	SubagentID string
	RequestID  string
	State      delegation.State  // "" when the watcher did not say
	Status     delegation.Status // when there is a response
	Reason     delegation.Reason
	ExitCode   int
	Usage      *delegation.Usage // when there is a response that has it
	Position   int               // in the queue, from 1
	ParentID   string            // the subagent with whose run it ends, as the watcher says; "" where there is none
	Depth      int               // how deep it stands then: 2 below a run without a parent

	Task         string // its beginning
	Workspace    string
	Timeout      time.Duration
	CreatedAt    time.Time
	RunningSince time.Time
	Deadline     time.Time
	StartedAt    time.Time // when there is a response, and something was started
	CompletedAt  time.Time // when there is a response

	Approvals []delegation.PendingApproval // the agent's questions that wait

	subagent delegation.SubagentID
}

// Listing is the subagents whose result was not taken yet, oldest first. Listings share what their items point to, so it must not be changed.
type Listing struct {
	Items []Item
	More  bool // there are more than MaxItems
}

// errEnough ends a listing that is full, and a stream of events of which the caller has enough.
var errEnough = errors.New("enough")

// List reads the outbox's request files and what belongs to them. It leaves out a request that is not readable: the host
// responds to it, and no run of it can be waited for. A file that the last listing has read is read again only if it may have changed.
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

// requestLimit is the size of the longest request that the watcher reads. A longer file has no run.
func (m *Manager) requestLimit() int64 {
	beat, err := m.heartbeat()
	if limit := beat.Limits.RequestBytes; err == nil && limit > 0 {
		return min(limit, maxRequest)
	}
	return usualRequest
}

// lookedBefore is what the last listing has read, by the names of the request files.
func (m *Manager) lookedBefore() map[string]looked {
	if last := m.looked.Load(); last != nil {
		return *last
	}
	return nil
}

// asked is what a request file says of the subagent that its name names.
func (m *Manager) asked(id string, data []byte) (Item, error) {
	req, err := delegation.DecodeRequest(data)
	if err != nil {
		return Item{}, err
	}
	if req.SubagentID.String() != id {
		return Item{}, errors.New("the request is of another subagent")
	}
	run := m.runOf(req)
	return Item{
		SubagentID: id, RequestID: run.RequestID(), subagent: req.SubagentID,
		Task: strings.Clone(beginning(req.Task, 100)), Workspace: run.workspace, Timeout: run.timeout, CreatedAt: req.CreatedAt,
	}, nil
}

// beginning is the first n characters of a text.
func beginning(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
