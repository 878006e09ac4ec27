package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"torno/internal/agent"
	"torno/internal/approval"
)

// maxAsks bounds how many questions of an agent may wait at once.
const maxAsks = 16

// asks holds the open questions of an agent. The agent chooses the name of each question, and takes the first answer to
// it. Questions come with the agent's output, decisions come from the host.
type asks struct {
	on     bool              // the agent was told to ask
	answer func(line []byte) // sends the agent an answer without waiting

	mu   sync.Mutex // guards the fields below
	over bool       // after the last turn: questions are dropped, and the agent gets no more answers
	held map[string]held
}

// held is an open question.
type held struct {
	approval.Call
	answers
	callID string
}

// line returns the line that reports the question to the host.
func (h held) line(id string) agent.Line {
	return agent.Line{Kind: agent.Ask, Ask: id, Tool: &agent.Tool{ID: h.callID, Name: h.Tool, Input: h.Arguments}}
}

// question is an agent's question whether it may use a tool.
type question struct {
	id, tool, callID string
	input            json.RawMessage
	never            string // why nobody can decide it; "" if somebody can
	answers          answers
}

// answers turns decisions into the agent's own lines.
type answers interface {
	grant(arguments json.RawMessage) []byte
	deny(why string) []byte
}

// askArgs makes Claude Code ask its controller before it uses a tool. The arguments from claudeArgs let it use every
// tool without asking. The workspace's settings do not count, because they could approve everything.
func askArgs(args []string) []string {
	return append(slices.DeleteFunc(args, func(arg string) bool { return arg == skipPermissions }), "--permission-prompt-tool=stdio", "--setting-sources=user")
}

// claudeControl is a control_request or a control_cancel_request.
type claudeControl struct {
	ID      loose[string] `json:"request_id"`
	Request struct {
		Subtype loose[string]   `json:"subtype"`
		Tool    loose[string]   `json:"tool_name"`
		CallID  loose[string]   `json:"tool_use_id"`
		Input   json.RawMessage `json:"input"`
		Person  loose[bool]     `json:"requires_user_interaction"`
	} `json:"request"`
}

// controlOf reads a control_request or control_cancel_request line.
func controlOf(text []byte) (c claudeControl) {
	_ = json.Unmarshal(text, &c) // the caller has already read it as an object
	return c
}

// control takes a request of Claude Code to its controller. It refuses every request that is no question.
func (a *asks) control(c claudeControl) []agent.Line {
	id, answers := c.ID.v, claudeAnswers(c.ID.v)
	switch {
	case !a.on || id == "":
		return nil
	case c.Request.Subtype.v != "can_use_tool" && !a.isOver():
		a.answer(claudeCannot(id))
		return nil
	}
	q := question{id: id, tool: c.Request.Tool.v, callID: c.Request.CallID.v, input: c.Request.Input, answers: answers}
	if c.Request.Person.v {
		q.never = "no user is there to answer this agent"
	}
	return a.ask(q)
}

func (a *asks) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// ask takes a question. If nobody can decide it, ask denies it at once.
func (a *asks) ask(q question) []agent.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return notice("it asked for approval after its last turn; that was dropped")
	}
	id, tool := q.id, q.tool
	var arguments []byte
	why := q.never
	if why == "" {
		var err error
		if arguments, err = approval.Canonical(q.input); err != nil {
			why = err.Error()
		}
	}
	_, twice := a.held[id]
	switch {
	case twice: // an answer could mean either question
		a.answer(q.answers.deny("another question has the same name"))
		return append(a.forget(id), deniedAtOnce(tool, "two questions have the same name")...)
	case why != "":
	case len(id) > maxName || len(tool) > maxName:
		why = "the question's name is too long"
	case len(a.held) >= maxAsks:
		why = fmt.Sprintf("%d questions wait already", len(a.held))
	}
	if why != "" {
		a.answer(q.answers.deny(why))
		return deniedAtOnce(tool, why)
	}
	if a.held == nil {
		a.held = map[string]held{}
	}
	waits := held{approval.Call{Tool: tool, Arguments: arguments}, q.answers, name(q.callID)}
	a.held[id] = waits
	return []agent.Line{waits.line(id)}
}

// again returns the lines of all open questions once more.
func (a *asks) again() (told []agent.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.held)) {
		told = append(told, a.held[id].line(id))
	}
	return told
}

func deniedAtOnce(tool, why string) []agent.Line {
	return notice(fmt.Sprintf("%s was denied: %s", name(tool), why))
}

// end drops all open questions, because the agent's last turn has ended.
func (a *asks) end() (told []agent.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for _, id := range slices.Sorted(maps.Keys(a.held)) {
		told = append(told, a.forget(id)...)
	}
	return told
}

// withdraw forgets a question that the agent has taken back.
func (a *asks) withdraw(id string) []agent.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.forget(id)
}

func (a *asks) forget(id string) []agent.Line {
	if _, waits := a.held[id]; !waits {
		return nil
	}
	delete(a.held, id)
	return []agent.Line{{Kind: agent.AskGone, Ask: id}}
}

// decide hands a decision to the agent, once. A grant carries the approved arguments, byte for byte. If the decision is
// about another call than the waiting one, decide denies the waiting one.
func (a *asks) decide(d agent.Decision) agent.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := agent.Line{Kind: agent.AskTaken, Ask: d.Ask}
	waits, there := a.held[d.Ask]
	if !there {
		told.Failed, told.Text = true, "no such question waits"
		return told
	}
	delete(a.held, d.Ask)
	switch {
	case waits.Digest(approval.Binding{Run: d.Run, Policy: d.Policy}) != d.Digest:
		told.Failed, told.Text = true, "the decision is about another call"
		a.answer(waits.deny(told.Text))
	case d.Allow:
		a.answer(waits.grant(waits.Arguments))
	default:
		a.answer(waits.deny(cmp.Or(d.Why, "it was denied")))
	}
	return told
}

// claudeAnswers is the name of a question. It answers that question in Claude Code's form.
type claudeAnswers string

func (id claudeAnswers) grant(arguments json.RawMessage) []byte {
	return claudeAnswer(string(id), claudeGrant{Behavior: "allow", Input: arguments})
}

func (id claudeAnswers) deny(why string) []byte {
	return claudeAnswer(string(id), claudeDenial{Behavior: "deny", Message: why})
}

type claudeGrant struct {
	Behavior string          `json:"behavior"`
	Input    json.RawMessage `json:"updatedInput"`
}

type claudeDenial struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message"`
}

// claudeAnswer returns the line that answers a question.
func claudeAnswer(id string, response any) []byte {
	return claudeResponse(map[string]any{"subtype": "success", "request_id": id, "response": response})
}

// claudeCannot refuses a request that this controller does not know. Without an answer the agent would wait.
func claudeCannot(id string) []byte {
	return claudeResponse(map[string]any{"subtype": "error", "request_id": id, "error": "this controller does not take such requests"})
}

func claudeResponse(response map[string]any) []byte {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false) // canonical arguments stay as they are
	if err := to.Encode(map[string]any{"type": "control_response", "response": response}); err != nil {
		panic(err) // canonical arguments and texts can always be encoded
	}
	return line.Bytes()
}
