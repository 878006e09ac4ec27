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

// maxAsks is how many questions of an agent's may wait at once.
const maxAsks = 16

// asks are the questions of an agent that wait. Each has a name that is the agent's own, and the agent takes the first answer. Questions come
// with the agent's output, decisions from the host.
type asks struct {
	on     bool              // the agent was told to ask
	answer func(line []byte) // hands the agent an answer; it does not wait

	mu   sync.Mutex // guards what follows
	over bool       // the agent is asked for no more, and gets no answer any more
	held map[string]held
}

// held is a question that waits.
type held struct {
	approval.Call
	answers
	callID string
}

// line tells of the question.
func (h held) line(id string) agent.Line {
	return agent.Line{Kind: agent.Ask, Ask: id, Tool: &agent.Tool{ID: h.callID, Name: h.Tool, Input: h.Arguments}}
}

// question is what an agent asks.
type question struct {
	id, tool, callID string
	input            json.RawMessage
	never            string // why nobody can decide it
	answers          answers
}

// answers say how an agent is answered, in its own lines.
type answers interface {
	grant(arguments json.RawMessage) []byte
	deny(why string) []byte
}

// askArgs has Claude Code ask its controller before it uses a tool, where its arguments have it ask for nothing. What the workspace has in
// its settings could approve everything, so they do not count.
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

// controlOf reads a line that has a type of control.
func controlOf(text []byte) (c claudeControl) {
	_ = json.Unmarshal(text, &c) // it was read once as an object
	return c
}

// control takes what Claude Code asks of its controller, and answers what is no question.
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
		q.never = "nobody sits in front of this agent"
	}
	return a.ask(q)
}

func (a *asks) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// ask takes a question. What nobody can decide is denied at once.
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
	case twice: // an answer could be about either
		a.answer(q.answers.deny("there is another question of this name"))
		return append(a.forget(id), deniedAtOnce(tool, "there are two questions of one name")...)
	case why != "":
	case len(id) > maxName || len(tool) > maxName:
		why = "the question has too long a name"
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

// again tells once more which questions wait.
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

// end drops the questions of an agent that has ended its last turn.
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

// decide hands a decision to the agent, once. With a grant go the arguments that were approved, byte for byte. A decision about another
// call than the one that waits denies that one.
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

// claudeAnswers answer a question of this name.
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

// claudeAnswer is the line that answers a question.
func claudeAnswer(id string, response any) []byte {
	return claudeResponse(map[string]any{"subtype": "success", "request_id": id, "response": response})
}

// claudeCannot answers a request that this controller does not know. Without an answer the agent would wait.
func claudeCannot(id string) []byte {
	return claudeResponse(map[string]any{"subtype": "error", "request_id": id, "error": "this controller does not take such requests"})
}

func claudeResponse(response map[string]any) []byte {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false) // canonical arguments stay as they are
	if err := to.Encode(map[string]any{"type": "control_response", "response": response}); err != nil {
		panic(err) // canonical arguments and texts have a form in JSON
	}
	return line.Bytes()
}
