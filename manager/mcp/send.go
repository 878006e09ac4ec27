package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
)

var sendTool = tool{
	name: "send", title: "Send a message to a subagent at work", ends: true, feature: delegation.FeatureInput,
	about: `
Send a message to a subagent's agent while it works: the agent takes it as its user's next message, after its current work. With interrupt the agent first stops its current work. An interrupt without a text ends the run, unless you have sent more.
Returns when the agent has the message, or after some seconds: then the agent gets it later, so do not send it again. Only agents take messages, and not in every profile; a shell command takes none. If the subagent has ended, use continue instead.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["id"],
"properties": {
	"id": {"type": "string", "description": "the id of the subagent"},
	"text": {"type": "string", "description": "the message; optional with interrupt"},
	"interrupt": {"type": "boolean", "description": "stop the agent's current work first"},
	"seconds": {"type": "integer", "minimum": 0, "description": "how long to wait until the agent has the message; by default 15. 0 does not wait, and more than 18 counts as 18"}
}}`,
	call: does(send),
}

type sendInput struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Interrupt bool   `json:"interrupt"`
	Seconds   *int   `json:"seconds"`
}

// sent tells how a message went.
type sent struct {
	ID     string `json:"id"`
	Number int    `json:"number"`        // the number among all inputs of the run
	Has    bool   `json:"has_it"`        // whether the agent has it
	Why    string `json:"why,omitempty"` // why the agent does not have it
	Next   string `json:"next"`
}

func (s sent) say() string {
	said := "the agent of " + s.ID + " has it"
	if !s.Has {
		said = s.Why
	}
	return said + "\nnext: " + s.Next
}

// kind checks the arguments and returns the kind of input.
func (in sendInput) kind() (delegation.InputKind, error) {
	switch {
	case in.ID == "":
		return "", badArgument("id", "id is missing: it names the subagent")
	case in.Interrupt:
		return delegation.InputInterrupt, nil
	case strings.TrimSpace(in.Text) == "":
		return "", badArgument("text", "text is missing: the message to the agent; only an interrupt needs no text")
	}
	return delegation.InputMessage, nil
}

func send(ctx context.Context, s *Server, in sendInput) (answer, error) {
	kind, err := in.kind()
	if err != nil {
		return nil, err
	}
	limit, err := waitingTime(in.Seconds, s.mostWait)
	if err != nil {
		return nil, err
	}
	return s.sayTo(ctx, in.ID, "sent", limit, func(ctx context.Context, run *manager.Run) (answer, error) {
		return sentTo(run)(run.Send(ctx, kind, in.Text))
	})
}

// sayTo says something to a run at work. It waits at most limit until the host has it. If the client has already given
// up the call, the error says that nothing was done.
func (s *Server) sayTo(ctx context.Context, id, done string, limit time.Duration, say func(context.Context, *manager.Run) (answer, error)) (answer, error) {
	leave, err := s.enterWait()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("it was not %s: %w", done, err)
	}
	run, err := s.attachLive(id)
	if err != nil {
		return nil, err
	}
	ctx, stop := whileListening(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return say(ctx, run)
}

// attachLive attaches to a run that is to hear something. If the run's result was taken, the error says that the run is
// over.
func (s *Server) attachLive(id string) (*manager.Run, error) {
	run, err := s.m.Attach(id)
	if _, taken := errors.AsType[*manager.TakenError](err); taken {
		return nil, fmt.Errorf("%w: %w", manager.ErrOver, err)
	}
	return run, err
}

// sentTo makes an answer from the results of Send. A message that the agent does not have yet lies in the outbox.
// sentTo does not report it as an error, because the model would send it again.
func sentTo(run *manager.Run) func(int, error) (answer, error) {
	return func(n int, err error) (answer, error) {
		said := sent{ID: run.ID(), Number: n, Has: err == nil, Next: "go on with your own work; read (what: events) shows its actions, and wait returns its answer"}
		if errors.Is(err, manager.ErrNotYet) {
			said.Why = words(err.Error())
			said.Next = "do not send it again: the agent gets it while its run lasts, and read (what: events) then shows it"
			return said, nil
		}
		if err != nil {
			return nil, err
		}
		return said, nil
	}
}
