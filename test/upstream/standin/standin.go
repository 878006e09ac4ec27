package standin

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// The tokens that each answer says it has used.
const (
	InputTokens  = 10
	OutputTokens = 3
)

// WithoutTools is the answer to a request that allows no tool.
const WithoutTools = "That is all that can be said without another tool."

// Seen is a request that arrived.
type Seen struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// Upstream is an http.Handler.
type Upstream struct {
	// Step, where it is there, is received from before each event of a stream but the first.
	Step chan struct{}
	// Gone, where it is there, gets a word when a client went before its answer ended.
	Gone chan struct{}

	mu   sync.Mutex
	key  string
	seen []Seen
	said map[string]bool // messages that were refused once
}

// New makes an upstream that takes one key, or, where it is "", everybody.
func New(key string) *Upstream { return &Upstream{key: key, said: map[string]bool{}} }

// Rotate makes another key the only one.
func (u *Upstream) Rotate(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.key = key
}

// Seen has the requests that have arrived.
func (u *Upstream) Seen() []Seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Seen(nil), u.seen...)
}

// Posts are the requests that ran a model. A watcher tries its routes by other ones, and some clients ask for the list of models.
func (u *Upstream) Posts() []Seen {
	return slices.DeleteFunc(u.Seen(), func(seen Seen) bool { return seen.Method != http.MethodPost })
}

// isFirst says whether a message comes for the first time.
func (u *Upstream) isFirst(text string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.said[text]
	u.said[text] = true
	return first
}

func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	u.mu.Lock()
	key := u.key
	u.seen = append(u.seen, Seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Clone(), body})
	u.mu.Unlock()
	api, ok := apis[r.URL.Path]
	given := keyOf(r.Header)
	refused := key != "" && given != key
	const quoting = "Incorrect API key provided: " // real upstreams quote what they were sent
	if !ok && refused {
		writeJSON(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"type": "authentication_error", "message": quoting + given}})
		return
	}
	if !ok {
		u.others(w, r)
		return
	}
	a := &answer{u: u, w: w, r: r, api: api}
	if refused {
		a.fail(http.StatusUnauthorized, "authentication_error", quoting+given)
		return
	}
	if err := json.Unmarshal(body, &a.asked); err != nil {
		a.fail(http.StatusBadRequest, "invalid_request_error", "the body is no JSON")
		return
	}
	if !a.asked.mayCall() {
		a.say(WithoutTools)
		return
	}
	if steps, done := stepsOf(a.asked); steps != nil {
		a.step = done
		a.begin(order{text: steps[min(done, len(steps)-1)]})
		return
	}
	if text, told := answerOf(a.asked); told {
		a.say(text)
		return
	}
	a.begin(api.last(a.asked))
}

func keyOf(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// others are the paths beside those of models' answers.
func (u *Upstream) others(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		writeJSON(w, http.StatusOK, map[string]any{"data": []any{map[string]any{"id": "stand-in", "type": "model"}}, "has_more": false})
	case "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": InputTokens})
	default:
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"type": "not_found_error", "message": "not found"}})
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
