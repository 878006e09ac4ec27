package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/delegation"
	"torno/manager"
	"torno/manager/patch"
)

// trouble is an error in the form that a model reads.
type trouble struct {
	Code  string `json:"code"`
	Field string `json:"field,omitempty"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	// Strange describes the problem, if names that the child has chosen may be in it.
	Strange foreign `json:"untrusted_detail,omitzero"`
	// Details holds a structured answer: the findings of an apply, or the tasks of a delegate.
	Details any `json:"details,omitempty"`
}

// strange is an error whose text may contain names that a child has chosen.
type strange struct{ error }

func (s *strange) Unwrap() error { return s.error }

func (t *trouble) say() string {
	said := t.Text
	if t.Next != "" {
		said += "\nnext: " + t.Next
	}
	if d, ok := t.Details.(answer); ok {
		said += "\n" + d.say()
	}
	if t.Strange.text != "" {
		said += "\n" + t.Strange.lines() + noteInText
	}
	return said
}

// result returns the trouble as a tool's error, so that the model sees it and can correct the call.
func (t *trouble) result() *sdk.CallToolResult {
	return &sdk.CallToolResult{
		IsError: true, StructuredContent: map[string]any{"error": t},
		Content: []sdk.Content{&sdk.TextContent{Text: t.say()}},
	}
}

// mistake is an error that carries its code and its next step.
type mistake struct {
	code, field, text, next string
	details                 answer
}

func (m *mistake) Error() string { return m.text }

func badArgument(field, format string, args ...any) error {
	return &mistake{code: "bad_argument", field: field, text: fmt.Sprintf(format, args...), next: "correct the arguments and call again; the tool's schema lists them"}
}

// This side adds these errors to the manager's.
var (
	errTooLong  = errors.New("the call took too long")
	errHungUp   = errors.New("the client has ended")
	errConflict = errors.New("some changes do not fit")
	errUnsafe   = errors.New("some changes are refused")
	errRuns     = errors.New("some of the files run by themselves")
	errDeletes  = errors.New("most of the files that the child was given would be deleted")
	errNotEnded = errors.New("the child is not done yet")
)

// troubles lists the errors that have a next step. The first match counts.
var troubles = []struct {
	err        error
	code, next string
}{
	{errTooLong, "too_long", "do it in smaller parts, or with the command subagent in a shell, which waits as long as it takes"},
	{fs.ErrPermission, "permission", "the server must run as the owner of the outbox"},
	{manager.ErrNobodyServing, "nobody_serving", "ask the user to start the watcher on the host, for instance `watcher run --dir DIR`; requests that are in the outbox are kept"},
	{manager.ErrOver, "over", "it has ended: call wait for its answer; continue, if the host offers it, goes on with its conversation; delegate with its id starts again in its workspace"},
	{manager.ErrNoApproval, "no_question", "status shows the waiting questions; the question may have expired, or somebody else has decided it"},
	{manager.ErrRunning, "running", "wait for its end, then call continue; send, if the host offers it, gives it a message now"},
	{manager.ErrNoRun, "no_run", "call status for a list of the subagents"},
	{manager.ErrOutstanding, "outstanding", "call wait for its result, then make this call again; or choose another id"},
	{manager.ErrSuperseded, "superseded", "call wait again: the later request counts"},
	{manager.ErrGone, "gone", "delegate the task again if its result is still needed"},
	{manager.ErrOverdue, "overdue", "it was cancelled; wait once more for its end"},
	{errUnsafe, "unsafe", "leave these paths out with without"},
	{errRuns, "runs_by_itself", "look at them with read (what: diff, paths), ask the user if in doubt, and then name each one in allow, or leave it out with without"},
	{errDeletes, "deletes_most", "look at the diff; then set allow_deletions, or leave paths out with without"},
	{errConflict, "conflict", "leave these paths out with without, and merge them by hand"},
	{errNotEnded, "unfinished", "wait for its end first; until then read shows its events and output, and apply with unfinished takes its changes so far"},
	{manager.ErrWorkspaceThere, "workspace_there", "choose another id, or leave out copy to go on in its workspace"},
	{patch.ErrNoBase, "no_base", "only subagents with a copy (delegate with copy) have a diff; read its answer, or look into its workspace"},
	{patch.ErrOtherOrigin, "other_origin", "name the directory to write to, with to"},
	{patch.ErrBusy, "busy", "call again when the other apply has ended"},
	{patch.ErrChanging, "changing", "wait for the child's end, and call again"},
	{patch.ErrRules, "rules_unknown", "ask the user to repair the repository; or set ignored (in delegate: copy_ignored): then ignored files count like all others"},
	{patch.ErrTooMuch, "too_much", "name the paths that matter, or copy a smaller directory"},
	{delegation.ErrMoved, "outbox_moved", "ask the user to start this server again: the outbox is another directory now"},
	{context.Canceled, "cancelled", "the children go on; wait again"},
	{fs.ErrNotExist, "not_found", "name a path that exists for this server"},
	{context.DeadlineExceeded, "too_long", "call again with less to do"},
}

// trouble turns an error into the form that a model reads.
func (s *Server) trouble(err error) *trouble {
	t := &trouble{Code: "trouble", Text: words(err.Error()), Next: "call status to see the present state"}
	if e, ok := errors.AsType[*mistake](err); ok {
		t.Code, t.Field, t.Next = e.code, e.field, e.next
		if e.details != nil {
			t.Details = e.details
		}
		return t
	}
	if e, ok := errors.AsType[*delegation.Refusal](err); ok {
		t.Code, t.Field, t.Next = string(e.Code), argumentOf(e.Field), words(e.Hint)
		if t.Next == "" {
			t.Next = "correct " + strings.TrimSpace("the argument "+t.Field) + " and call again"
		}
		return t
	}
	for _, known := range troubles {
		if errors.Is(err, known.err) {
			t.Code, t.Next = known.code, known.next
			t.keepApart(err, known.err.Error())
			break
		}
	}
	t.keepApart(err, "the subagent's files could not be read or taken over")
	if nobody, ok := errors.AsType[*manager.NobodyServingError](err); ok && nobody.Cause != nil {
		t.Next = "ask the user to check watcher.json in the outbox: this server cannot use it, for instance because the watcher is newer than this server"
	}
	return t
}

// keepApart replaces the text of an error by our own words, and quotes the error separately, if it may contain names
// that a child has chosen.
func (t *trouble) keepApart(err error, ours string) {
	if _, ok := errors.AsType[*strange](err); ok && t.Strange.text == "" {
		t.Strange, t.Text = quoteAll(err.Error(), maxWords), ours
	}
}

// argumentOf returns the name of the argument that sets a field of a request.
func argumentOf(field string) string {
	switch field {
	case "subagent_id":
		return "id"
	case "context_paths":
		return "context"
	}
	return words(field)
}
