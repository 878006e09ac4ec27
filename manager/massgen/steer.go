package massgen

import (
	"fmt"
	"strings"

	"torno/delegation"
)

// Child holds the known facts about a subagent that a call names. The zero value is a subagent that no registry knows.
type Child struct {
	Known      bool
	State      Status // StatusRunning while it runs
	Background bool   // it runs in the background
	Answered   bool   // its answer is in the workspace
	SessionID  string
	Recovery   bool // it can be continued from its context, without a session
	Workspace  string
	There      bool // the workspace exists
}

// Continue is a call of continue_subagent.
type Continue struct {
	SubagentID delegation.SubagentID
	Message    string
	Timeout    int // in seconds; 0 means the default
	Background bool
}

// ParseContinue parses the arguments of continue_subagent.
func ParseContinue(arguments []byte) (Continue, *Failure) {
	r, id, failure := addressed(OpContinue, arguments)
	if failure != nil {
		return Continue{}, failure
	}
	call := Continue{id, r.text("message"), r.seconds("timeout_seconds"), r.flag("background", false)}
	r.only("subagent_id", "message", "timeout_seconds", "background")
	return call, r.failure(OpContinue)
}

// Check returns the reason why the child cannot be continued, or nil.
func (c Continue) Check(child Child) *Failure {
	switch {
	case child.State == StatusRunning && child.Background:
		return OpContinue.fail("Subagent %s is already running in background. Use send_message_to_subagent() to steer the active run.", c.SubagentID)
	case child.State == StatusRunning:
		return OpContinue.fail("Subagent %s is currently running. Use send_message_to_subagent() for runtime steering.", c.SubagentID)
	case !child.Known:
		return notFound(OpContinue, c.SubagentID.String())
	case child.SessionID == "" && !child.Recovery:
		return OpContinue.fail("Subagent %s has no session_id and no recovery path.", c.SubagentID)
	case !child.There:
		return OpContinue.fail("Subagent workspace not found: %s", child.Workspace)
	}
	return nil
}

// TimedOut returns the answer of continue_subagent after the continuation took too long.
func (c Continue) TimedOut(seconds int) *Failure {
	return OpContinue.fail("Continuation timed out after %ds", seconds)
}

// Send is a call of send_message_to_subagent.
type Send struct {
	SubagentID   delegation.SubagentID
	Message      string
	TargetAgents []string // nil means every agent of the child
}

// ParseSend parses the arguments of send_message_to_subagent.
func ParseSend(arguments []byte) (Send, *Failure) {
	r, id, failure := addressed(OpSend, arguments)
	if failure != nil {
		return Send{}, failure
	}
	call := Send{id, r.text("message"), r.texts("target_agents")}
	r.only("subagent_id", "message", "target_agents")
	return call, r.failure(OpSend)
}

// Check returns the reason why nothing can be sent to the child, or nil.
func (s Send) Check(child Child) *Failure {
	var failure *Failure
	switch {
	case !child.Known:
		failure = notFound(OpSend, s.SubagentID.String())
	case child.State != StatusRunning:
		failure = OpSend.fail("Subagent '%s' is %s, not running", s.SubagentID, child.State)
	case child.Answered:
		failure = OpSend.fail("Subagent '%s' has already completed (answer.txt found in workspace)", s.SubagentID)
	default:
		return nil
	}
	failure.SubagentID = s.SubagentID.String()
	return failure
}

// Cancel is a call of cancel_subagent.
type Cancel struct{ SubagentID delegation.SubagentID }

// ParseCancel parses the arguments of cancel_subagent.
func ParseCancel(arguments []byte) (Cancel, *Failure) {
	r, id, failure := addressed(OpCancel, arguments)
	if failure != nil {
		return Cancel{}, failure
	}
	r.only("subagent_id")
	return Cancel{id}, r.failure(OpCancel)
}

// Check returns the reason why the child cannot be cancelled, or nil. MassGen names no operation in these answers.
func (c Cancel) Check(child Child) *Failure {
	switch {
	case !child.Known:
		return notFound(OpCancel, c.SubagentID.String())
	case child.State.Terminal():
		return Operation("").fail("Subagent %s already in terminal state: %s", c.SubagentID, child.State)
	}
	return nil
}

// ParseList checks that a call of list_subagents has no arguments.
func ParseList(arguments []byte) *Failure {
	fields, failure := object(OpList, arguments)
	if failure != nil {
		return failure
	}
	r := &reader{at: "The call", fields: fields}
	for name := range fields {
		r.wrong = "list_subagents takes no arguments. Remove '" + name + "'."
	}
	return r.failure(OpList)
}

// addressed parses the arguments of a call that names a subagent. It makes the checks that MassGen makes first. A name
// that is not a valid ID names no subagent, because no subagent can have started under it.
func addressed(op Operation, arguments []byte) (*reader, delegation.SubagentID, *Failure) {
	var id delegation.SubagentID
	fields, failure := object(op, arguments)
	if failure != nil {
		return nil, id, failure
	}
	if missing(fields["subagent_id"]) {
		return nil, id, op.fail("Missing required 'subagent_id' parameter")
	}
	if op != OpCancel && missing(fields["message"]) {
		return nil, id, op.fail("Missing required 'message' parameter")
	}
	r := &reader{at: "The call", fields: fields}
	name := r.text("subagent_id")
	if r.wrong != "" {
		return nil, id, r.failure(op)
	}
	id, err := delegation.ParseSubagentID(name)
	if err != nil {
		return nil, id, notFound(op, name)
	}
	return r, id, nil
}

// notFound returns the answer of each tool for an unknown subagent.
func notFound(op Operation, name string) *Failure {
	switch op {
	case OpSend:
		failure := op.fail("Subagent '%.200s' not found", name)
		failure.SubagentID = fmt.Sprintf("%.200s", name)
		return failure
	case OpCancel:
		return Operation("").fail("Subagent not found: %.200s", name)
	default:
		return op.fail("Subagent %.200s not found in any registry.", name)
	}
}

func missing(value any) bool {
	text, ok := value.(string)
	return value == nil || ok && strings.TrimSpace(text) == ""
}

// failure returns the first mistake as a failure of the operation, or nil.
func (r *reader) failure(op Operation) *Failure {
	if r.wrong == "" {
		return nil
	}
	return op.fail("%s", r.wrong)
}
