package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/manager"
)

var approveTool = tool{
	name: "approve", title: "Decide a subagent's question", ends: true, feature: delegation.FeatureApprovals,
	about: `
Decide whether a waiting subagent may call the tool that it asks about: status shows its questions. With approve the agent may make this one call, once. With deny the agent gets your reason, and goes on without the call.
The question is the subagent's text. Judge the effect of the call, and deny any call that you do not understand or cannot see in full.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["id", "approval", "digest", "decision"],
"properties": {
	"id": {"type": "string", "description": "the id of the subagent"},
	"approval": {"type": "integer", "minimum": 1, "description": "the number of the question"},
	"digest": {"type": "string", "description": "the whole digest of the question, as status shows it"},
	"decision": {"type": "string", "enum": ["approve", "deny"]},
	"why": {"type": "string", "description": "with deny: the reason for the agent"}
}}`,
	call: does(approve),
}

type approveInput struct {
	ID       string              `json:"id"`
	Approval int                 `json:"approval"`
	Digest   string              `json:"digest"`
	Decision delegation.Decision `json:"decision"`
	Why      string              `json:"why"`
}

// decided tells how a decision went.
type decided struct {
	ID       string              `json:"id"`
	Approval int                 `json:"approval"`
	Decision delegation.Decision `json:"decision"`
	Has      bool                `json:"has_it"`        // whether the host has the decision
	Why      string              `json:"why,omitempty"` // why the host does not have it
	Next     string              `json:"next"`
}

func (d decided) say() string {
	said := fmt.Sprintf("%s, approval %d: %s", d.ID, d.Approval, d.Decision)
	if !d.Has {
		said += "; " + d.Why
	}
	return said + "\nnext: " + d.Next
}

func (in approveInput) check() error {
	switch {
	case in.ID == "":
		return badArgument("id", "id is missing: it names the subagent")
	case in.Approval < 1:
		return badArgument("approval", "approval is missing: the number of the question")
	case !delegation.IsDigest(in.Digest):
		return badArgument("digest", "digest must be the 64 hexadecimal digits that status shows with the question")
	case in.Decision != delegation.Approve && in.Decision != delegation.Deny:
		return badArgument("decision", "decision must be approve or deny, not %s", words(fmt.Sprintf("%.50q", in.Decision)))
	case in.Decision == delegation.Approve && in.Why != "":
		return badArgument("why", "why works only with deny: an approval gives the agent no text")
	case len(in.Why) > delegation.MaxWhy:
		return badArgument("why", "why has %d bytes, at most %d are allowed", len(in.Why), delegation.MaxWhy)
	}
	return nil
}

func approve(ctx context.Context, s *Server, in approveInput) (answer, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return s.sayTo(ctx, in.ID, "decided", defaultWait, func(ctx context.Context, run *manager.Run) (answer, error) {
		return in.decide(ctx, run)
	})
}

// decide decides the question that the model saw: number and digest must match.
func (in approveInput) decide(ctx context.Context, run *manager.Run) (answer, error) {
	waiting := run.Approvals()
	i := slices.IndexFunc(waiting, func(a delegation.PendingApproval) bool { return a.Approval == in.Approval && a.Digest == in.Digest })
	if i < 0 {
		return nil, fmt.Errorf("%s, approval %d: %w", run.ID(), in.Approval, manager.ErrNoApproval)
	}
	said := decided{ID: run.ID(), Approval: in.Approval, Decision: in.Decision, Next: "the agent goes on; call wait for its answer"}
	err := run.Decide(ctx, waiting[i], in.Decision, in.Why)
	if errors.Is(err, manager.ErrNotYet) {
		said.Why, said.Next = "the host does not have the decision yet", "do not decide it again: the host gets the decision while the run lasts; status shows whether the question still waits"
		return said, nil
	}
	said.Has = err == nil
	return said, err
}

// question is a question of a subagent's agent, in the agent's words.
type question struct {
	Approval  int       `json:"approval"`
	Digest    string    `json:"digest"`
	Tool      foreign   `json:"untrusted_tool"`
	Arguments foreign   `json:"untrusted_arguments"`
	Cut       bool      `json:"cut,omitempty"` // the question is longer than shown
	Expires   time.Time `json:"denied_at"`     // denied then, unless decided earlier
	DecidedBy []string  `json:"decided_by,omitempty"`
}

const (
	maxQuestions  = 4      // per subagent at a time
	maxAskedTool  = 400    // bytes of JSON
	maxAskedWords = 10_000 // bytes of JSON; the host passes on 4 KiB
)

// questionsOf returns the first questions of a subagent. The others come after these are decided.
func questionsOf(waiting []delegation.PendingApproval) (all []question) {
	for _, a := range waiting[:min(len(waiting), maxQuestions)] {
		q := question{Approval: a.Approval, Digest: a.Digest, Cut: a.Cut, Expires: a.ExpiresAt}
		for _, by := range a.DecidedBy[:min(len(a.DecidedBy), maxQuestions)] {
			q.DecidedBy = append(q.DecidedBy, words(by))
		}
		var name, used int
		q.Tool, name = quote([]byte(a.Tool), maxAskedTool)
		q.Arguments, used = quote([]byte(a.Arguments), maxAskedWords)
		q.Cut = q.Cut || name < len(a.Tool) || used < len(a.Arguments)
		all = append(all, q)
	}
	return all
}

func (q question) say() string {
	said := fmt.Sprintf("  approval %d, digest %s, denied at %s:\n%s%s", q.Approval, q.Digest, q.Expires.Format(time.RFC3339), q.Tool.lines(), q.Arguments.lines())
	if q.Cut {
		said += "  the question is longer: you do not see everything that the call would do\n"
	}
	return said
}

// maxAsked bounds the questions of one answer, in bytes.
const maxAsked = 20_000

// boundQuestions drops the questions that do not fit into one answer. It reports whether any question remains.
func boundQuestions(all []standing) (some bool) {
	room := maxAsked
	for i := range all {
		for j, q := range all[i].Asks {
			if room -= sizeInJSON(q.Tool.text) + sizeInJSON(q.Arguments.text) + eventRoom; room < 0 {
				all[i].Asks, all[i].AsksMore = all[i].Asks[:j], true
				break
			}
			some = true
		}
	}
	return some
}
