package adapter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"torno/internal/agent"
)

// serverAsked is a request for approval, before a command, a change of files or a call of a tool.
type serverAsked struct {
	Thread  loose[string]   `json:"threadId"`
	TurnID  loose[string]   `json:"turnId"`
	Item    loose[string]   `json:"itemId"`
	Kind    loose[string]   `json:"kind"`
	Command loose[string]   `json:"command"`
	Dir     loose[string]   `json:"cwd"`
	Reason  loose[string]   `json:"reason"`
	Network json.RawMessage `json:"networkApprovalContext"`
	More    json.RawMessage `json:"additionalPermissions"`
	Root    loose[string]   `json:"grantRoot"`
	Server  loose[string]   `json:"serverName"`
	Meta    struct {
		Kind  loose[string]   `json:"codex_approval_kind"`
		Tool  loose[string]   `json:"tool_name"`
		Input json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

// asked takes a request of the server. Every request gets an answer, because the server would wait otherwise. An error
// denies the request.
func (s *server) asked(l serverLine) []agent.Line {
	var p serverAsked
	_ = json.Unmarshal(l.Params, &p) // parameters that are no object leave p empty, which is denied below
	q := question{id: string(l.ID), callID: p.Item.v}
	say := serverAnswers{s: s, id: l.ID, thread: p.Thread.v, turn: p.TurnID.v, item: itemKey(p.TurnID.v, p.Item.v)}
	switch l.Method.v {
	case "item/commandExecution/requestApproval":
		q.tool = itemKinds["commandExecution"]
		q.input, q.never = p.command()
		say.call = p.Command.v
	case "item/fileChange/requestApproval":
		changes := s.items.begun[say.item].Changes
		q.tool = itemKinds["fileChange"]
		q.input, q.never = p.changes(changes)
		say.call = changesOf(changes.v, true)
	case "mcpServer/elicitation/request":
		q.tool, q.input, q.never = p.server()
		say.elicited = true
	default:
		s.reply(serverCannot(l.ID))
		return nil
	}
	if !s.asks.on {
		s.reply(serverCannot(l.ID))
		return nil
	}
	q.answers = say
	return s.asks.ask(q)
}

// shells lists the programs that run a script as a shell does. Only their script counts as the command. The model chooses
// the program, and a program in the workspace may do anything, whatever its name is.
var shells = []string{"/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash", "/usr/bin/zsh"}

// command returns the arguments of a request for a shell command. If the command is a shell with -c or -lc, its script
// alone counts as the command.
func (p *serverAsked) command() (input json.RawMessage, never string) {
	switch {
	case p.Kind.v != "" && p.Kind.v != "command":
		return nil, "its adapter does not know this kind of question: " + p.Kind.v
	case isThere(p.Network) || isThere(p.More):
		return nil, "it asks for more than running a command"
	case p.Command.v == "":
		return nil, "it does not say which command"
	}
	arguments := object{"command": p.Command.v, "cwd": p.Dir.v}
	if words, ok := shellWords(p.Command.v); ok && len(words) == 3 && slices.Contains(shells, words[0]) && (words[1] == "-c" || words[1] == "-lc") {
		arguments["command"], arguments["shell"] = words[2], words[0]+" "+words[1]
	}
	if p.Reason.v != "" {
		arguments["reason"] = p.Reason.v
	}
	return inputOf(arguments), ""
}

// changes returns the arguments of a request to change files. The item of the step has reported these changes before.
func (p *serverAsked) changes(changes list[serverChange]) (input json.RawMessage, never string) {
	switch {
	case p.Root.v != "":
		return nil, "it asks for more than changing files"
	case len(changes.v) == 0 || changes.more:
		return nil, "it names no files, or too many"
	}
	arguments := object{"changes": changesOf(changes.v, true)}
	if only := changes.v[0]; len(changes.v) == 1 && only.Kind.Move.v == "" {
		arguments["file_path"] = only.Path.v // approval rules look at it
	}
	return inputOf(arguments), ""
}

// server returns a tool call to an MCP server.
func (p *serverAsked) server() (tool string, input json.RawMessage, never string) {
	tool = "mcp__" + p.Server.v + "__" + p.Meta.Tool.v
	if p.Meta.Kind.v != "mcp_tool_call" || p.Meta.Tool.v == "" {
		return tool, nil, "no user is there to answer this agent"
	}
	if !isThere(p.Meta.Input) {
		return tool, json.RawMessage("{}"), ""
	}
	return tool, p.Meta.Input, ""
}

func isThere(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// serverAnswers writes decisions in the server's form.
type serverAnswers struct {
	s            *server
	id           json.RawMessage
	thread, turn string
	item         string
	call         any  // the call that was approved, to compare with the call that runs
	elicited     bool // an MCP server's question, whose answer has another form
}

func (a serverAnswers) grant(json.RawMessage) []byte {
	a.s.grants(a.item, a.call)
	if a.elicited {
		return a.answer(object{"action": "accept", "content": object{}})
	}
	return a.answer(object{"decision": "accept"})
}

// deny refuses a request. The server's refusal has no field for a reason, so the model gets the reason as a message.
func (a serverAnswers) deny(why string) []byte {
	no := object{"decision": "decline"}
	if a.elicited {
		no = object{"action": "decline"}
	}
	text := fmt.Sprintf("What you have just asked for was denied: %s", why)
	told := object{"threadId": a.thread, "expectedTurnId": a.turn, "input": userInput(text)}
	return append(a.answer(no), encoded(request{askWhy + string(a.id), "turn/steer", told})...)
}

func (a serverAnswers) answer(result object) []byte {
	return encoded(object{"id": a.id, "result": result})
}

// serverCannot refuses a request that this adapter does not know.
func serverCannot(id json.RawMessage) []byte {
	return encoded(object{"id": id, "error": object{"code": -32601, "message": "this client does not take such requests"}})
}

// grants remembers an approved call until its step has run.
func (s *server) grants(key string, call any) {
	if s.items.granted == nil {
		s.items.granted = map[string]any{}
	}
	if len(s.items.granted) < maxBegun {
		s.items.granted[key] = call
	}
}

// ran compares the call that the server reports with the call that was approved. A hostile agent can lie here; the
// comparison finds a faulty one.
func (s *server) ran(key string, i serverItem) []agent.Line {
	approved, was := s.items.granted[key]
	delete(s.items.granted, key)
	if !s.asks.on || !i.wasDone() {
		return nil
	}
	var did any = i.Command.v
	if i.Type.v == "fileChange" {
		did = changesOf(i.Changes.v, true)
	}
	switch {
	case !was:
		return notice(name(i.ID.v) + " was done without a question")
	case !reflect.DeepEqual(approved, did):
		return notice(name(i.ID.v) + " differs from the approved call")
	}
	return nil
}

// wasDone reports whether a step has run a command or changed a file. Input to a running command does not count: it is
// a part of that command.
func (i *serverItem) wasDone() bool {
	switch i.Type.v {
	case "commandExecution":
		return i.Source.v != "unifiedExecInteraction" && (i.Status.v == "completed" || i.Status.v == "failed" && i.Exit.v > 0)
	case "fileChange":
		return i.Status.v == "completed"
	}
	return false
}
