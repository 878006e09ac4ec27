package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"torno/delegation"
	"torno/internal/socket"
)

// Approvals lets an operator decide the questions of agents.
type Approvals interface {
	// Approvals returns the waiting questions of all runs.
	Approvals(context.Context) ([]Question, error)
	// Decide grants or denies a question of a run, as the operator has seen it.
	Decide(ctx context.Context, ref string, d Decision) (Question, error)
	// Revoke makes the watcher approve no further call of one run without a question.
	Revoke(ctx context.Context, ref string, r Revocation) (Revoked, error)
}

// Question is an agent's question, with the run that it belongs to.
type Question struct {
	Key      string `json:"key"`
	Outbox   string `json:"outbox"`
	Subagent string `json:"subagent_id"`
	delegation.PendingApproval
}

// Decision is an operator's word about a question.
type Decision struct {
	Approval int
	Digest   string // the digest of the call that the operator has seen
	Grant    bool
	Always   bool   // also grant later calls like it, for this run
	Why      string // the reason that the agent is told if the question is denied
}

// Revocation is an operator's order to approve no further call of a run without a question.
type Revocation struct {
	Why string
	End bool // also end the run, if a question waits
}

// Revoked is the result of a revocation.
type Revoked struct {
	Run     Run `json:"run"`
	Pending int `json:"pending"` // how many questions waited and are now denied
}

// Errors about questions.
var (
	ErrNoQuestion = errors.New("no such question waits for a decision")
	ErrUndecided  = errors.New("the question was not decided in this way")
)

func handleApprovals(mux *http.ServeMux, service Approvals) {
	mux.HandleFunc("GET /v1/approvals", func(w http.ResponseWriter, r *http.Request) {
		questions, err := service.Approvals(r.Context())
		if questions == nil {
			questions = []Question{}
		}
		failures.Reply(w, questions, err)
	})
	mux.HandleFunc("POST /v1/decide/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.FormValue("approval")) // 0 names no question
		question, err := service.Decide(r.Context(), r.PathValue("ref"), Decision{
			Approval: number, Digest: r.FormValue("digest"), Grant: r.FormValue("grant") == "1", Always: r.FormValue("always") == "1", Why: r.FormValue("why"),
		})
		failures.Reply(w, question, err)
	})
	mux.HandleFunc("POST /v1/revoke/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		revoked, err := service.Revoke(r.Context(), r.PathValue("ref"), Revocation{Why: r.FormValue("why"), End: r.FormValue("end") == "1"})
		failures.Reply(w, revoked, err)
	})
}

// Approvals lists the questions that wait.
func (c *Client) Approvals(ctx context.Context) (questions []Question, err error) {
	return socket.List[Question](ctx, c.watcher, maxList, http.MethodGet, "/v1/approvals")
}

// Decide grants or denies a question.
func (c *Client) Decide(ctx context.Context, ref string, d Decision) (question Question, err error) {
	form := url.Values{"approval": {strconv.Itoa(d.Approval)}, "digest": {d.Digest}, "why": {d.Why}}
	flag(form, "grant", d.Grant)
	flag(form, "always", d.Always)
	return question, c.call(ctx, http.MethodPost, "/v1/decide/"+escape(ref)+"?"+form.Encode(), &question)
}

// Revoke makes the watcher approve no further call of a run without a question.
func (c *Client) Revoke(ctx context.Context, ref string, r Revocation) (revoked Revoked, err error) {
	form := url.Values{"why": {r.Why}}
	flag(form, "end", r.End)
	return revoked, c.call(ctx, http.MethodPost, "/v1/revoke/"+escape(ref)+"?"+form.Encode(), &revoked)
}

func flag(form url.Values, name string, set bool) {
	if set {
		form.Set(name, "1")
	}
}
