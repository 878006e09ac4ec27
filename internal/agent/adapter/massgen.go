package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"torno/internal/agent"
	"torno/internal/massgen/remains"
)

const massgenTitle = "the MassGen of March 2026"

// massgen reads MassGen's log: its events, line by line, and its progress. MassGen's printed output is for people. The
// form of the log is taken from MassGen's documents and source; MassGen was never run here (decision 0041).
type massgen struct {
	said

	config, output, task string // for its arguments

	stale os.FileInfo // the answer file from before this run; nil if there was none

	speaker string // the member of the team that speaks now
	final   string // its final answer, as an event gave it
	phase   string
	usage   agent.Tokens
}

// massgenKind returns MassGen, which reports its work in files.
func massgenKind() kind {
	m := &massgen{}
	return kind{
		name: "massgen", title: massgenTitle, parser: m, files: m,
		args:  func(string, func(string) string) []string { return m.args() },
		input: func(string) []byte { return nil },
		sessions: sessions{
			here: true, tree: ".massgen", files: massgenFiles,
			resume: func(args []string, session string) []string {
				return append([]string{"--session-id", session}, args...)
			},
		},
	}
}

// args makes MassGen do one task without a person. MassGen does not follow references in the task, such as @/path: the
// sandbox decides which files it may read.
func (m *massgen) args() []string {
	var args []string
	if m.config != "" {
		args = append(args, "--config", m.config)
	}
	return append(args, "--automation", "--no-parse-at-references", "--output-file", m.output, "--", m.task)
}

func (m *massgen) memory() *said { return &m.said }

// line takes a printed line. MassGen prints for people, so the line stays raw.
func (m *massgen) line(text []byte) []agent.Line { return raw(text) }

// massgenEvent is a line of events.jsonl.
type massgenEvent struct {
	Type  loose[string]      `json:"event_type"`
	Agent loose[string]      `json:"agent_id"`
	Data  loose[massgenData] `json:"data"`
}

type massgenData struct {
	Content  loose[string]   `json:"content"`
	Message  loose[string]   `json:"message"`
	Error    loose[string]   `json:"error"`
	ID       loose[string]   `json:"tool_id"`
	Name     loose[string]   `json:"tool_name"`
	Args     json.RawMessage `json:"args"`
	Result   content         `json:"result"`
	Status   loose[string]   `json:"status"`
	IsError  loose[bool]     `json:"is_error"`
	Label    loose[string]   `json:"answer_label"`
	Target   loose[string]   `json:"target_id"`
	Reason   loose[string]   `json:"reason"`
	Restart  loose[string]   `json:"restart_reason"`
	Summary  loose[string]   `json:"summary"`
	TimeIsUp loose[string]   `json:"timeout_reason"`
}

// untold lists events that are not reported, because another event or the status says the same.
var untold = []string{
	"round_start", "round_end", "timeline_entry", "workspace_action", "phase_change", "presentation_start", "hook_execution", "post_evaluation",
	"context_received", "final_presentation_start", "final_presentation_end", "answer_locked", "injection_received",
}

// event reads a line of events.jsonl, which may be any bytes.
func (m *massgen) event(text []byte) []agent.Line {
	var e massgenEvent
	if json.Unmarshal(text, &e) != nil || e.Type.v == "" {
		return raw(text)
	}
	m.understood = true
	d := e.Data.v
	switch e.Type.v {
	case "text", "final_presentation_chunk":
		return m.says(e, agent.Line{Kind: agent.Text, Text: d.Content.v})
	case "thinking":
		return m.says(e, agent.Line{Kind: agent.Thinking, Text: d.Content.v})
	case "tool_start":
		return m.says(e, agent.Line{Kind: agent.ToolCall, Tool: &agent.Tool{ID: d.ID.v, Name: d.Name.v, Input: d.Args}})
	case "tool_complete":
		failed := d.IsError.v || d.Status.v == "error" || d.Status.v == "failed"
		return m.says(e, agent.Line{Kind: agent.ToolResult, Tool: &agent.Tool{ID: d.ID.v}, Text: d.Result.text, Failed: failed})
	case "final_answer":
		m.final = d.Content.v
		return nil
	case "error":
		m.trouble = d.Error.v
		return notice(d.Error.v)
	case "orchestrator_timeout":
		m.trouble = d.TimeIsUp.v
		return notice(d.TimeIsUp.v)
	}
	if slices.Contains(untold, e.Type.v) {
		return nil
	}
	if said, known := m.news(e); known {
		return notice(said)
	}
	return raw(text)
}

// news puts an event about the team itself into words. known is false for any other event.
func (m *massgen) news(e massgenEvent) (text string, known bool) {
	who, d := e.Agent.v, e.Data.v
	because := func(text, reason string) string {
		if reason == "" {
			return text
		}
		return text + ": " + reason
	}
	switch e.Type.v {
	case "status", "backend_status", "system_status":
		return d.Message.v, true
	case "answer_submitted":
		m.spoke = true
		return because(strings.TrimSpace(fmt.Sprintf("%s has an answer %s", who, d.Label.v)), d.Content.v), true
	case "vote":
		return because(fmt.Sprintf("%s votes for %s", who, d.Target.v), d.Reason.v), true
	case "winner_selected":
		return who + " is chosen", true
	case "agent_stopped":
		return because(who+" has ended its part", d.Summary.v), true
	case "agent_restart":
		return because(who+" begins again", d.Restart.v), true
	case "restart_banner":
		return because("it begins again", d.Reason.v), true
	}
	return "", false
}

// says reports the words or the action of a member of the team. If another member spoke before, a notice first names
// the new one.
func (m *massgen) says(e massgenEvent, l agent.Line) []agent.Line {
	m.spoke = true
	if e.Agent.v == "" || e.Agent.v == m.speaker {
		return tell(l)
	}
	m.speaker = name(e.Agent.v)
	return append(notice(m.speaker+" works"), tell(l)...)
}

// status takes up a status.json. It decides nothing: the file may lie, and may be older than the events.
func (m *massgen) status(data []byte) (told []agent.Line, ok bool) {
	saved, ok := remains.Read(data)
	if !ok {
		return nil, false
	}
	m.understood = true
	if spent := (agent.Tokens{Input: saved.Usage.Input, Output: saved.Usage.Output}); spent != (agent.Tokens{}) {
		m.usage = spent
	}
	if saved.Phase == m.phase {
		return nil, true
	}
	m.phase = saved.Phase
	text := "phase " + name(saved.Phase)
	if saved.Percentage != nil {
		text += fmt.Sprintf(", %d %%", *saved.Percentage)
	}
	return notice(text), true
}

// spends reports the tokens, if MassGen has counted any.
func (m *massgen) spends() []agent.Line {
	if m.usage == (agent.Tokens{}) {
		return nil
	}
	return usage(m.usage)
}

// massgenFiles returns the files of a session, below the workspace, if at least one turn was saved: first the file with
// the session's name, then its turns. The files that the team made during turns come last: they may be large, so they
// are the first to be left out.
func massgenFiles(root *os.Root, session string) []string {
	turns := walk(root, ".massgen/sessions/"+session, func(string) bool { return true })
	if len(turns) == 0 {
		return nil
	}
	var made []string
	turns = slices.DeleteFunc(turns, func(file string) bool {
		work := strings.Contains(file, "/workspace/")
		if work {
			made = append(made, file)
		}
		return work
	})
	return slices.Concat([]string{massgenSession}, turns, made)
}

// massgenSession is the file with the name of MassGen's session.
const massgenSession = ".massgen/.session_id"
