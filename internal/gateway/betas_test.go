package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
)

// charging is an upstream that charges as the real one does, where each byte of a request is a token: a prompt
// above the model's window is an error that costs nothing, and a beta makes the window longer.
func charging(t *testing.T) *rig {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		window := 200_000
		if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Anthropic-Beta"), ",")), long) {
			window = 1_000_000
		}
		w.Header().Set("Content-Type", "application/json")
		if len(body) > window {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`)
			return
		}
		usage := map[string]any{"input_tokens": len(body), "output_tokens": 1}
		json.NewEncoder(w).Encode(map[string]any{"type": "message", "content": []any{}, "usage": usage})
	}))
	t.Cleanup(server.Close)
	return bare(t, server.URL)
}

// long is the beta of the long window.
const long = "context-1m-2025-08-07"

// prompt asks for an answer to so many bytes, with a list of betas, by the only route of a door. It returns what
// became of it.
func (r *rig) prompt(
	t *testing.T, bytes int, limits budget.Limits, betas ...string,
) (status int, event Event, spent budget.Amount) {
	t.Helper()
	request := ask(messages, strings.Repeat("a", bytes), false)
	request.Header["Anthropic-Beta"] = betas
	door := limited("run", limits)
	door.Routes = door.Routes[:1]
	status, _ = do(t, r.open(door), request)
	event = r.event(1)
	return status, event, r.ledger.Use(budget.Scope{Kind: budget.Run, ID: "run"}).Spent
}

// TestABudgetByAHeader: a beta gives a request another window than the one that was reserved, at another price.
// Whatever its spelling, no more is spent than the limits allow.
func TestABudgetByAHeader(t *testing.T) {
	for name, betas := range map[string][]string{
		"alone":        {long},
		"in a list":    {"claude-code-20250219," + long},
		"in a line":    {"claude-code-20250219", "interleaved-thinking-2025-05-14 ,\t" + long + " "},
		"another case": {strings.ToUpper(long)},
	} {
		for _, reach := range [][]any{nil, {long}} { // without a price, the reach does not help
			r := charging(t)
			r.prices(map[string]any{"input": 3, "output": 15, "max_input": 200_000}, "reach", reach)
			money := budget.Unit * 5 / 4
			limits := budget.Limits{InputTokens: number(300_000), Money: &money}
			_, event, spent := r.prompt(t, 900_000, limits, betas...)
			if spent.InputTokens > 300_000 || spent.Money > money {
				t.Errorf("%s, reach %v: %d tokens and %s are spent", name, reach, spent.InputTokens, spent.Money)
			}
			if !slices.Equal(event.Dropped, []string{long}) {
				t.Errorf("%s, reach %v: the event says that %q was taken out", name, reach, event.Dropped)
			}
		}
	}
}

// TestTheLongWindow: where the route's reach names it and the prices know it, it is reserved as long and as dear
// as it is, and costs what the upstream takes.
func TestTheLongWindow(t *testing.T) {
	price := map[string]any{
		"input": 3, "output": 15, "max_input": 200_000,
		"long": map[string]any{
			"input": 6, "output": 22.5, "cache_write": 6, "cache_write_hour": 6, "max_input": 1_000_000,
		},
	}
	money := budget.Unit * 5 / 4
	few, little := budget.Limits{InputTokens: number(300_000)}, budget.Limits{Money: &money}
	enough := budget.Limits{InputTokens: number(1_000_000)}
	for name, test := range map[string]struct {
		bytes         int
		limits        budget.Limits
		status        int
		token, answer budget.Money // the price of a token that is read, and of the one that is written
	}{
		"more tokens than there are": {900_000, few, http.StatusBadRequest, 0, 0},
		"more money than there is":   {900_000, little, http.StatusBadRequest, 0, 0},
		"enough":                     {900_000, enough, http.StatusOK, 6000, 22_500},
		"a short prompt":             {1000, enough, http.StatusOK, 3000, 15_000},
	} {
		r := charging(t)
		r.prices(price, "reach", []any{"context-1m-*"})
		status, event, spent := r.prompt(t, test.bytes, test.limits, long)
		if status != test.status || status == http.StatusBadRequest && event.Code != route.CodeBudget {
			t.Errorf("%s: %d, %s", name, status, event.Code)
		}
		if want := test.token*budget.Money(spent.InputTokens) + test.answer; spent.Money != want {
			t.Errorf("%s: %d tokens cost %s, want %s", name, spent.InputTokens, spent.Money, want)
		}
	}
}
