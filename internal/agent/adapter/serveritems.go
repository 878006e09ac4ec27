package adapter

import (
	"cmp"
	"encoding/json"
	"strings"

	"torno/internal/agent"
)

// serverItems remembers the steps of turns.
type serverItems struct {
	answer  string                // what the model said last
	begun   map[string]serverItem // steps whose call was reported and whose result was not, by turn and item
	granted map[string]any        // approved calls that have not run yet, by turn and item
	parents map[string]string     // by conversation of a subagent: the call that started it
}

// serverItem is a step of a turn.
type serverItem struct {
	ID        loose[string]      `json:"id"`
	Type      loose[string]      `json:"type"`
	Status    loose[string]      `json:"status"`
	Client    loose[string]      `json:"clientId"` // of a user's message: the id that we gave it
	Text      loose[string]      `json:"text"`
	Summary   list[string]       `json:"summary"`
	Content   json.RawMessage    `json:"content"`
	Command   loose[string]      `json:"command"`
	Source    loose[string]      `json:"source"`
	Output    loose[string]      `json:"aggregatedOutput"`
	Exit      loose[int64]       `json:"exitCode"`
	Changes   list[serverChange] `json:"changes"`
	Server    loose[string]      `json:"server"`
	Tool      loose[string]      `json:"tool"`
	Argument  json.RawMessage    `json:"arguments"`
	Query     loose[string]      `json:"query"`
	Error     loose[codexError]  `json:"error"`
	Receivers list[string]       `json:"receiverThreadIds"`
	Result    loose[struct {
		Content content `json:"content"`
	}] `json:"result"`
}

type serverChange struct {
	Path loose[string] `json:"path"`
	Kind struct {
		Type loose[string] `json:"type"`
		Move loose[string] `json:"move_path"`
	} `json:"kind"`
	Diff loose[string] `json:"diff"`
}

// itemKinds gives steps the names that they have in `codex exec` too.
var itemKinds = map[string]string{"commandExecution": "command_execution", "fileChange": "file_change", "webSearch": "web_search"}

// item reports a step of a turn: a text, or a tool's call and its result.
func (s *server) item(p told, completed bool) []agent.Line {
	var i serverItem
	_ = json.Unmarshal(p.Item, &i) // an item that is no object has no type
	parent := s.items.parents[p.Thread.v]
	switch i.Type.v {
	case "userMessage":
		s.mu.Lock()
		s.heard(i.Client.v)
		s.mu.Unlock()
		return nil
	case "agentMessage", "reasoning", "plan", "contextCompaction":
		s.spoke = true
		if !completed {
			return nil
		}
	case "":
		return raw(p.Item)
	}
	switch i.Type.v {
	case "agentMessage":
		if s.isOurs(p.Thread.v) {
			s.items.answer = i.Text.v
		}
		return tell(agent.Line{Kind: agent.Text, Text: i.Text.v, Parent: parent})
	case "plan":
		return tell(agent.Line{Kind: agent.Text, Text: i.Text.v, Parent: parent})
	case "reasoning":
		return tell(agent.Line{Kind: agent.Thinking, Text: i.thought(), Parent: parent})
	case "contextCompaction":
		return notice("it has shortened its memory of the conversation")
	}
	s.spoke = true
	return s.toolItem(p, i, parent, completed)
}

// thought returns the summary of a model's reasoning, or else its full text.
func (i *serverItem) thought() string {
	var whole list[string]
	_ = json.Unmarshal(i.Content, &whole)
	return cmp.Or(strings.Join(i.Summary.v, "\n"), strings.Join(whole.v, "\n"))
}

// toolItem reports a tool's call when it begins. If no beginning came, it reports the call together with its result.
func (s *server) toolItem(p told, i serverItem, parent string, completed bool) []agent.Line {
	s.adopts(i)
	key := itemKey(p.TurnID.v, i.ID.v)
	_, begun := s.items.begun[key]
	var lines []agent.Line
	if !begun {
		lines = tell(agent.Line{Kind: agent.ToolCall, Tool: i.tool(p.Item), Parent: parent})
	}
	if completed {
		delete(s.items.begun, key)
		lines = append(lines, i.result(parent)...)
		return append(lines, s.ran(key, i)...)
	}
	if s.items.begun == nil {
		s.items.begun = map[string]serverItem{}
	}
	if len(s.items.begun) < maxBegun {
		s.items.begun[key] = i
	}
	return lines
}

// itemKey tells steps apart: a model may use an id again in its next turn.
func itemKey(turn, item string) string { return turn + "/" + item }

// adopts notes which conversations a call has started.
func (s *server) adopts(i serverItem) {
	for _, thread := range i.Receivers.v {
		if s.items.parents == nil {
			s.items.parents = map[string]string{}
		}
		if _, known := s.items.parents[thread]; !known && len(s.items.parents) < maxBegun {
			s.items.parents[thread] = i.ID.v
		}
	}
}

// tool returns the call of an item. For an item of an unknown kind, the whole item is the input.
func (i *serverItem) tool(item json.RawMessage) *agent.Tool {
	tool := &agent.Tool{ID: i.ID.v, Name: cmp.Or(itemKinds[i.Type.v], i.Type.v), Input: item}
	switch i.Type.v {
	case "commandExecution":
		tool.Input = inputOf(object{"command": i.Command.v})
	case "fileChange":
		tool.Input = inputOf(object{"changes": changesOf(i.Changes.v, false)})
	case "mcpToolCall":
		tool.Name, tool.Input = "mcp__"+i.Server.v+"__"+i.Tool.v, i.Argument
	case "webSearch":
		tool.Input = inputOf(object{"query": i.Query.v})
	}
	return tool
}

// changesOf returns changes of files in the form of a tool's input. With whole it includes the diffs.
func changesOf(changes []serverChange, whole bool) []object {
	all := make([]object, len(changes))
	for n, c := range changes {
		all[n] = object{"kind": c.Kind.Type.v, "path": c.Path.v}
		if c.Kind.Move.v != "" {
			all[n]["move_path"] = c.Kind.Move.v
		}
		if whole {
			all[n]["diff"] = c.Diff.v
		}
	}
	return all
}

func (i *serverItem) result(parent string) []agent.Line {
	same := codexItem{Exit: i.Exit, Error: i.Error, Output: i.Output, Status: i.Status}
	same.ID, same.Result = i.ID, i.Result
	lines := same.result()
	for n := range lines {
		lines[n].Parent = parent
	}
	return lines
}
