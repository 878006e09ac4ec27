package route

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// claudeBetas are the betas that cost no more than the model's price and reach no further than one answer. The names
// come from the vendor's API reference (AnthropicBeta), from the vendor's pages on each of them, and from the requests
// of Claude Code 2.1.330. A beta is a field by another name: a beta that is not in this list may be anything.
var claudeBetas = []string{
	// Claude Code's own: the program, its login, and how its messages and tools are written.
	"claude-code-20250219", "oauth-2025-04-20", "per-turn-control-2026-07-01", "prompt-caching-scope-2026-01-05",
	"redact-thinking-2026-02-12", "advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19",
	"tool-examples-2025-10-29", "mid-conversation-system-2026-04-07", "mid-conversation-system-clear-at-2026-08-21",
	"mid-conversation-tool-changes-2026-07-01", "mid-conversation-output-config-2026-07-01",
	"inline-tools-2026-09-15", // we judge each tool that a message brings
	// Thinking: its tokens are output. The request's length and its thinking budget bound them.
	"interleaved-thinking-2025-05-14", "adaptive-thinking-2026-01-28", "thinking-token-count-2026-05-13",
	"thinking-display-updates-2026-08-18", "thinking-binding-controls-2026-08-01", "effort-2025-11-24",
	"task-budgets-2026-03-13",
	// The form of an answer.
	"fine-grained-tool-streaming-2025-05-14", "structured-outputs-2025-11-13", "structured-outputs-2025-12-15",
	"token-efficient-tools-2025-02-19", "token-efficient-tools-2026-03-28", "model-context-window-exceeded-2025-08-26",
	// Caches (which have prices), edits that leave parts out, documents, and tools that run where the client runs.
	"prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11", "context-management-2025-06-27", "pdfs-2024-09-25",
	"token-counting-2024-11-01", "computer-use-2024-10-22", "computer-use-2025-01-24", "computer-use-2025-11-24",
}

// knownBetas are the betas that pass, by API. For Responses they are a version of the API (in OpenAI-Beta), and the
// beta that Codex 0.169.0 uses to shorten a conversation with an ordinary request.
var knownBetas = map[API][]string{
	Anthropic:       claudeBetas,
	Bedrock:         claudeBetas,
	OpenAIResponses: {"responses=experimental", "responses=v1", "remote_compaction_v2"},
}

// betaWords are betas that only switch on a tool or a field. If the route's reach has the word of that tool or field,
// the beta passes too.
var betaWords = []struct{ beta, word string }{
	{"advisor-tool-*", "advisor_*"},
	{"code-execution-*", "code_execution_*"},
	{"compact-*", "context_management"},
	{"fast-mode-*", "speed"},
	{"files-api-*", "stored"},
	{"mcp-client-*", "mcp_servers"},
	{"server-side-fallback-*", "fallbacks"},
	{"skills-*", "container"},
	{"web-fetch-*", "web_fetch_*"},
	{"web-search-*", "web_search_*"},
}

// isWindow reports whether a beta asks for a longer window, such as context-1m-2025-08-07. Then a long prompt has
// another price.
func isWindow(beta string) bool {
	rest, ok := strings.CutPrefix(beta, "context-")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// betaFields are the members of a body that hold betas, as Bedrock, Vertex and the vendor's libraries call them.
var betaFields = []string{"anthropicbeta", "betas"}

// isBetas reports whether a header field holds betas: Anthropic-Beta, OpenAI-Beta, X-Codex-Beta-Features, or a similar
// field that the operator passes on.
func isBetas(header string) bool { return strings.Contains(strings.ToLower(header), "beta") }

// judgeBetas removes every beta that may not pass from the header. The operator's own betas always pass.
func (r *Route) judgeBetas(e *Exchange) {
	if r.API == Plain {
		return
	}
	w := reacher{r, e}
	for name := range e.Header {
		if !isBetas(name) {
			continue
		}
		if kept := w.betas(e.Header.Get(name), r.Set[name]); len(kept) > 0 {
			e.Header.Set(name, strings.Join(kept, ","))
		} else {
			e.Header.Del(name)
		}
	}
}

// betas returns the betas of a list that pass, each once, in the spelling that we understood.
func (w reacher) betas(list, ours string) []string {
	var kept []string
	for one := range strings.SplitSeq(list, ",") {
		one = strings.ToLower(strings.TrimSpace(one))
		switch {
		case one == "" || slices.Contains(kept, one):
		case w.passesBeta(one, ours):
			kept = append(kept, one)
			w.e.Long = w.e.Long || isWindow(one)
		default:
			w.tell(one)
		}
	}
	return kept
}

// passesBeta reports whether a beta may leave. A longer window also needs a price.
func (w reacher) passesBeta(name, ours string) bool {
	if escape(name, "-._=") != name { // an upstream may read it as several betas
		return false
	}
	if isWindow(name) && (w.e.longPriced == nil || !w.e.longPriced(w.e.Model)) {
		return false
	}
	if holds(ours, name) || slices.Contains(knownBetas[w.route.API], name) || w.route.reaches(name) {
		return true
	}
	for _, b := range betaWords {
		if fitsWord(b.beta, name) && slices.ContainsFunc(w.route.Reach, func(word string) bool {
			return fitsWord(fold(b.word), fold(word)) || fitsWord(fold(word), fold(b.word))
		}) {
			return true
		}
	}
	return false
}

var errTooLong = errors.New("it is too long")

// betasIn removes every beta that may not pass from a member of a body. A member that is neither a text nor a list of
// texts is removed.
func (w reacher) betasIn(m member, value []byte, change edits) edits {
	if string(value) == "null" {
		return change
	}
	all := make([]string, 1)
	err := errTooLong // a list of empty texts takes eight times its length in memory
	switch {
	case len(value) > maxValue:
	case value[0] == '"':
		err = json.Unmarshal(value, &all[0])
	default:
		err = json.Unmarshal(value, &all)
	}
	if err != nil {
		w.tell(m.key)
		return append(change, edit{key: m.key})
	}
	kept := w.betas(strings.Join(all, ","), "")
	switch {
	case slices.Equal(kept, all) && value[0] == '[':
		return change
	case len(kept) == 0:
		return append(change, edit{key: m.key})
	}
	var texts [][]byte
	for _, one := range kept {
		texts = append(texts, quote(one))
	}
	return append(change, edit{m.key, array(texts)})
}
