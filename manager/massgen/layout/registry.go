package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/internal/flock"
	"torno/manager/massgen"
)

// These constants bound a registry.
const (
	maxRegistry = 8 << 20
	maxEntries  = 10000
	taskPreview = 200 // characters of a task in the registry
	listPreview = 100 // characters of a task in a list of children
)

// Registry lists the children that a parent has had.
type Registry struct {
	ParentAgentID  string  `json:"parent_agent_id"`
	OrchestratorID string  `json:"orchestrator_id"`
	Subagents      []Entry `json:"subagents"`
}

// Entry is one child of a registry.
type Entry struct {
	SubagentID      string         `json:"subagent_id"`
	SessionID       *string        `json:"session_id"`
	Task            string         `json:"task"`
	Status          massgen.Status `json:"status"`
	Workspace       string         `json:"workspace"`
	CreatedAt       string         `json:"created_at"`
	ExecutionTime   float64        `json:"execution_time_seconds"`
	Success         bool           `json:"success"`
	Continuable     bool           `json:"continuable"`
	ContinuableVia  string         `json:"continuable_via"`
	SourceAgent     string         `json:"source_agent"`
	LastContinuedAt string         `json:"last_continued_at,omitempty"`
}

// SaveRegistry writes the registry. It marks every entry as continuable: by its session, or from its context if it has
// no session. It drops the oldest entries if the registry would be longer than Registry can read again.
func (t *Tree) SaveRegistry(registry Registry) error {
	registry.Subagents = slices.Clone(registry.Subagents)
	for i := range registry.Subagents {
		entry := &registry.Subagents[i]
		if _, err := delegation.ParseSubagentID(entry.SubagentID); err != nil {
			return fmt.Errorf("registry: %w", err)
		}
		entry.Task, entry.Continuable, entry.ContinuableVia = shorten(entry.Task, taskPreview), true, "session"
		if entry.SessionID == nil || *entry.SessionID == "" {
			entry.SessionID, entry.ContinuableVia = nil, "context_recovery"
		}
	}
	if registry.Subagents == nil {
		registry.Subagents = []Entry{}
	}
	data, err := encode(registry)
	for err == nil && len(data) > maxRegistry && len(registry.Subagents) > 0 {
		registry.Subagents = registry.Subagents[(len(registry.Subagents)+3)/4:]
		data, err = encode(registry)
	}
	if err != nil {
		return err
	}
	return write(t.root, registryName, data)
}

// Registry reads the registry. A missing registry reads as empty. Registry leaves out an entry whose ID is not valid.
func (t *Tree) Registry() (Registry, error) {
	data, more, err := beneath.ReadFile(t.root, registryName, maxRegistry)
	if errors.Is(err, fs.ErrNotExist) {
		return Registry{}, nil
	}
	if err == nil && more {
		err = fmt.Errorf("it is longer than %d bytes", maxRegistry)
	}
	if err != nil {
		return Registry{}, fmt.Errorf("read %s: %w; move it away", registryName, err)
	}
	registry, err := parseRegistry(data)
	if err != nil {
		return Registry{}, fmt.Errorf("read %s: %w; move it away", registryName, err)
	}
	return registry, nil
}

// lockTime bounds how long an update waits for another update.
const lockTime = 5 * time.Second

// Update changes the registry as it is now. If several processes share a workspace, only one of them updates at a time.
func (t *Tree) Update(change func(*Registry)) error {
	lock, err := t.lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", registryName, err)
	}
	defer lock.Close() // gives the lock back
	registry, err := t.Registry()
	if err != nil {
		return err
	}
	change(&registry)
	if extra := len(registry.Subagents) - maxEntries; extra > 0 {
		registry.Subagents = registry.Subagents[extra:] // the oldest stand first
	}
	return t.SaveRegistry(registry)
}

// lock takes the registry's lock. The file is never removed, so all processes lock the same file.
func (t *Tree) lock() (*os.File, error) {
	file, err := t.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockTime, fmt.Errorf("waited %s", lockTime))
	defer cancel()
	if err := flock.Wait(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Find returns the newest entry of a child, or nil.
func (r *Registry) Find(id string) *Entry {
	for i := len(r.Subagents) - 1; i >= 0; i-- {
		if r.Subagents[i].SubagentID == id {
			return &r.Subagents[i]
		}
	}
	return nil
}

// Put removes the child's earlier entry and appends the new one.
func (r *Registry) Put(entry Entry) {
	r.Subagents = slices.DeleteFunc(r.Subagents, func(old Entry) bool { return old.SubagentID == entry.SubagentID })
	r.Subagents = append(r.Subagents, entry)
}

var errNoRegistry = errors.New("it has no form of a registry that MassGen writes")

// parseRegistry reads both forms: a list of entries, and the older object whose keys are the IDs.
func parseRegistry(data []byte) (Registry, error) {
	var form struct {
		ParentAgentID  string          `json:"parent_agent_id"`
		OrchestratorID string          `json:"orchestrator_id"`
		Subagents      json.RawMessage `json:"subagents"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return Registry{}, errNoRegistry
	}
	registry := Registry{ParentAgentID: form.ParentAgentID, OrchestratorID: form.OrchestratorID}
	old := form.Subagents
	if old == nil {
		old = data
	}
	if bytes.HasPrefix(bytes.TrimSpace(old), []byte("{")) {
		var byID map[string]Entry
		if err := json.Unmarshal(old, &byID); err != nil {
			return Registry{}, errNoRegistry
		}
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			entry := byID[id]
			entry.SubagentID = id
			registry.Subagents = append(registry.Subagents, entry)
		}
	} else if err := json.Unmarshal(old, &registry.Subagents); err != nil {
		return Registry{}, errNoRegistry
	}
	if n := len(registry.Subagents); n > maxEntries {
		return Registry{}, fmt.Errorf("it has %d entries, at most %d are read", n, maxEntries)
	}
	registry.Subagents = slices.DeleteFunc(registry.Subagents, func(entry Entry) bool {
		_, err := delegation.ParseSubagentID(entry.SubagentID)
		return err != nil
	})
	return registry, nil
}

// Preview returns a task as a list shows it.
func Preview(task string) string { return shorten(task, listPreview) }

// shorten returns the beginning of a text, counted in characters.
func shorten(text string, characters int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), characters)])
}
