package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
)

var statusTool = tool{
	name: "status", title: "Status of subagents", reads: true,
	about: `
Show the state of subagents (queued, running, ended), what the host offers (profiles, their agents and models, limits) and how much of your budget is left. It does not wait.`,
	input: `{
"type": "object", "additionalProperties": false,
"properties": {"ids": {"type": "array", "items": {"type": "string"}, "description": "the ids of subagents; by default all whose result is still in the outbox"}}
}`,
	call: does(status),
}

const maxListed = 100 // subagents per answer

type statusInput struct {
	IDs []string `json:"ids"`
}

// stateOf is the answer of status.
type stateOf struct {
	Subagents []standing     `json:"subagents"`
	More      bool           `json:"more,omitempty"` // there are more than listed
	Counts    map[string]int `json:"counts,omitempty"`
	Host      *host          `json:"host,omitempty"`
	NoHost    string         `json:"no_host,omitempty"` // why nothing starts
	Budget    *budgetNow     `json:"budget,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// finish bounds the questions of strangers, and adds the note that they are strangers.
func (s *stateOf) finish() {
	if boundQuestions(s.Subagents) {
		s.Note = note
	}
}

// standing is the state of a subagent.
type standing struct {
	ID       string            `json:"id"`
	State    delegation.State  `json:"state,omitempty"`
	Position int               `json:"position,omitempty"` // in the queue
	Seconds  int64             `json:"running_seconds,omitempty"`
	Status   delegation.Status `json:"status,omitempty"`
	Reason   delegation.Reason `json:"reason,omitempty"`
	ExitCode *int              `json:"exit_code,omitempty"`
	Told     bool              `json:"result_given,omitempty"` // by wait, in this session
	Task     string            `json:"task,omitempty"`         // its beginning
	Asks     []question        `json:"asks,omitempty"`         // approve decides them
	AsksMore bool              `json:"asks_more,omitempty"`
	Trouble  *trouble          `json:"trouble,omitempty"`
}

func (s standing) say() string {
	if s.Trouble != nil {
		return fmt.Sprintf("%s: %s", s.ID, s.Trouble.say())
	}
	said := fmt.Sprintf("%s: %s", s.ID, cmp.Or(string(s.State), "asked for"))
	switch {
	case s.Position > 0:
		said += fmt.Sprintf(", place %d in the queue", s.Position)
	case s.Seconds > 0:
		said += fmt.Sprintf(" for %d s", s.Seconds)
	case s.Status != "":
		said += fmt.Sprintf(" (%s %s)", s.Status, s.Reason)
	}
	for _, q := range s.Asks {
		said += "\n" + strings.TrimSuffix(q.say(), "\n")
	}
	if s.AsksMore {
		said += "\n  it has more questions than shown here; call status with its id alone to see them"
	}
	return said
}

// host describes everything that the watcher offers.
type host struct {
	Version  string    `json:"version"`
	Profiles []profile `json:"profiles"`
	Running  int       `json:"running"`
	Queued   int       `json:"queued"`
	Most     int       `json:"running_at_most"`
	Seconds  int       `json:"timeout_seconds_at_most"`
	Context  []string  `json:"context_below,omitempty"`
	Trouble  []string  `json:"trouble,omitempty"` // the watcher's notices of trouble
}

type profile struct {
	Name        string `json:"name"`
	Agent       string `json:"agent,omitempty"`
	Model       string `json:"model,omitempty"`
	Description string `json:"description,omitempty"`
}

func (p profile) say() string {
	said := "the task is a shell command"
	if p.Agent != "" {
		said = strings.TrimSpace("the task is a prompt for " + p.Agent + " " + p.Model)
	}
	if p.Description != "" {
		said += "; " + p.Description
	}
	return said
}

func (s stateOf) say() string {
	var b strings.Builder
	for _, one := range s.Subagents {
		b.WriteString(one.say() + "\n")
	}
	if len(s.Subagents) == 0 {
		b.WriteString("there are no subagents\n")
	}
	if s.More {
		b.WriteString("and more\n")
	}
	if s.Note != "" {
		fmt.Fprintln(&b, noteInText)
	}
	if s.Budget != nil {
		b.WriteString(s.Budget.say())
	}
	if s.NoHost != "" {
		b.WriteString(s.NoHost + "\n")
	}
	if s.Host == nil {
		return b.String()
	}
	for _, p := range s.Host.Profiles {
		fmt.Fprintf(&b, "profile %s: %s\n", p.Name, p.say())
	}
	for _, text := range s.Host.Trouble {
		fmt.Fprintf(&b, "the host says: %s\n", text)
	}
	return b.String()
}

func status(ctx context.Context, s *Server, in statusInput) (answer, error) {
	if len(in.IDs) > maxListed {
		return nil, badArgument("ids", "%d subagents are too many for one answer: at most %d", len(in.IDs), maxListed)
	}
	if len(in.IDs) > 0 {
		return s.statusOf(in.IDs)
	}
	return s.overview(ctx)
}

// statusOf answers about single subagents. If a subagent does not exist, its entry holds the trouble.
func (s *Server) statusOf(ids []string) (answer, error) {
	said := stateOf{Subagents: []standing{}}
	for _, id := range ids {
		said.Subagents = append(said.Subagents, s.standing(id))
	}
	if len(ids) == 1 && said.Subagents[0].Trouble != nil {
		return nil, fmt.Errorf("%s: %w", ids[0], manager.ErrNoRun)
	}
	said.finish()
	return said, nil
}

// standing returns the state of one subagent.
func (s *Server) standing(id string) standing {
	if item, there := s.m.Find(id); there {
		return s.standingOf(item)
	}
	kept, err := s.m.Taken(id)
	if err != nil {
		return standing{ID: words(id), Trouble: s.trouble(fmt.Errorf("%s: %w", id, manager.ErrNoRun))}
	}
	return standing{
		ID: kept.SubagentID, State: delegation.StateEnded, Status: kept.Status, Reason: kept.Reason, ExitCode: &kept.ExitCode, Told: true,
	}
}

func (s *Server) standingOf(item manager.Item) standing {
	one := standing{
		ID: item.SubagentID, State: item.State, Position: item.Position, Status: item.Status, Reason: item.Reason,
		Asks: questionsOf(item.Approvals), AsksMore: len(item.Approvals) > maxQuestions,
		Task: words(item.Task), Told: s.children.wasTold(item.SubagentID, item.RequestID),
	}
	if item.Status != "" {
		one.ExitCode, one.Position = &item.ExitCode, 0
	}
	if item.State == delegation.StateRunning && !item.RunningSince.IsZero() {
		one.Seconds = max(0, int64(time.Since(item.RunningSince)/time.Second))
	}
	return one
}

// noHost says why nobody serves the outbox, or returns "" if a watcher serves.
func (s *Server) noHost() string {
	if _, err := s.m.Serving(); err != nil {
		return words(err.Error())
	}
	return ""
}

// addHost adds everything that the watcher offers, or says that there is no watcher.
func (s *Server) addHost(said *stateOf) {
	beat, err := s.m.Serving()
	if err != nil {
		said.NoHost = words(err.Error())
		return
	}
	h := &host{
		Version: words(beat.Watcher), Profiles: []profile{}, Running: beat.Running, Queued: beat.Queued,
		Most: beat.Limits.Running, Seconds: beat.Limits.MaxTimeoutSeconds,
	}
	for _, p := range beat.Profiles[:min(len(beat.Profiles), maxListed)] {
		h.Profiles = append(h.Profiles, profile{words(p.Name), words(p.Agent), words(p.Model), words(p.Description)})
	}
	for _, path := range slices.Concat(beat.Workspaces, beat.Context) {
		if path := words(path); len(h.Context) < maxNamed && !slices.Contains(h.Context, path) {
			h.Context = append(h.Context, path)
		}
	}
	for _, n := range beat.Notices {
		h.Trouble = append(h.Trouble, words(n.Text))
	}
	said.Host = h
}
