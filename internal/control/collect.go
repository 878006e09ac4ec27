package control

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"torno/internal/socket"
)

// Collect is a request to remove workspaces that are over the rule.
type Collect struct {
	DryRun bool
	Outbox string        // the outbox's name or id; "" for all outboxes
	Age    time.Duration // an age to use instead of the rule's; 0 for the rule's
}

// Workspace is a workspace that falls under the rule.
type Workspace struct {
	Outbox   string    `json:"outbox"`
	Subagent string    `json:"subagent_id"`
	Made     bool      `json:"made"` // a client made the directory
	Used     time.Time `json:"used_at"`
	Bytes    int64     `json:"bytes,omitempty"` // the size after the last run; absent if it is not known
	Over     string    `json:"over,omitempty"`  // why it is over the rule
	Kept     string    `json:"kept,omitempty"`  // why it is kept although it is over
	Removed  bool      `json:"removed"`
}

func handleCollect(mux *http.ServeMux, service Service) {
	mux.HandleFunc("POST /v1/collect", func(w http.ResponseWriter, r *http.Request) {
		age, _ := strconv.ParseInt(r.FormValue("age"), 10, 64)
		all, err := service.Collect(r.Context(), Collect{DryRun: r.FormValue("dry_run") == "1", Outbox: r.FormValue("outbox"), Age: time.Duration(age)})
		if all == nil {
			all = []Workspace{}
		}
		failures.Reply(w, all, err)
	})
}

// Collect removes workspaces that are over the rule and not needed.
func (c *Client) Collect(ctx context.Context, ask Collect) (all []Workspace, err error) {
	form := url.Values{"outbox": {ask.Outbox}, "age": {strconv.FormatInt(int64(ask.Age), 10)}}
	if ask.DryRun {
		form.Set("dry_run", "1")
	}
	return socket.List[Workspace](ctx, c.watcher, maxList, http.MethodPost, "/v1/collect?"+form.Encode())
}
