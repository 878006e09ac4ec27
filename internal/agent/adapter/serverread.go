package adapter

import (
	"encoding/json"
	"strings"

	"torno/internal/agent"
)

const codexTitle = "Codex 0.169.0"

// serverLine is a request of the server, a response to a request of ours (no method), or a notification (no id).
type serverLine struct {
	ID     json.RawMessage `json:"id"`
	Method loose[string]   `json:"method"`
	Params json.RawMessage `json:"params"`
}

// told has the parameters of a notification.
type told struct {
	Thread  loose[string]   `json:"threadId"`
	TurnID  loose[string]   `json:"turnId"`
	Turn    serverTurn      `json:"turn"`
	Item    json.RawMessage `json:"item"`
	Usage   serverUsage     `json:"tokenUsage"`
	Error   codexError      `json:"error"`
	Message loose[string]   `json:"message"`
	Request json.RawMessage `json:"requestId"`
	Name    loose[string]   `json:"name"`
	Status  loose[string]   `json:"status"`
}

type serverTurn struct {
	ID     loose[string]     `json:"id"`
	Status loose[string]     `json:"status"`
	Error  loose[codexError] `json:"error"`
}

func (s *server) memory() *said { return &s.said }

func (s *server) line(text []byte) []agent.Line {
	var l serverLine
	if json.Unmarshal(text, &l) != nil {
		return raw(text)
	}
	id := string(l.ID)
	switch {
	case l.Method.v == "" && id == "":
		return raw(text)
	case l.Method.v == "":
		return s.response(id, text)
	case id != "":
		s.understood = true
		return s.asked(l)
	}
	return s.tells(l, text)
}

// response takes an answer to a request of ours. The ids of our requests are texts.
func (s *server) response(id string, text []byte) []agent.Line {
	var name string
	var a answer
	if json.Unmarshal([]byte(id), &name) != nil || json.Unmarshal(text, &a) != nil {
		return raw(text)
	}
	s.understood = true
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered(name, a)
}

// tells handles a notification.
func (s *server) tells(l serverLine, text []byte) []agent.Line {
	var p told
	_ = json.Unmarshal(l.Params, &p) // parameters that are no object leave p empty
	known := true
	var lines []agent.Line
	switch l.Method.v {
	case "turn/started":
		s.starts(p)
	case "turn/completed":
		lines = s.completes(p)
	case "item/started", "item/completed":
		lines = s.item(p, l.Method.v == "item/completed")
	case "thread/tokenUsage/updated":
		s.spends(p)
	case "error":
		s.trouble = p.Error.Message.v
		lines = notice(s.trouble)
	case "warning", "guardianWarning":
		lines = notice(p.Message.v)
	case "mcpServer/startupStatus/updated":
		if p.Status.v == "failed" {
			lines = notice("the MCP server " + p.Name.v + " failed")
		}
	case "serverRequest/resolved":
		lines = s.asks.withdraw(string(p.Request))
	default:
		known = isQuiet(l.Method.v)
	}
	if !known {
		return raw(text)
	}
	s.understood = true
	return lines
}

// quiet lists the beginnings of methods whose notifications are not reported: progress and state of the server itself.
var quiet = []string{"account/", "app/", "configWarning", "deprecationNotice", "hook/", "item/", "mcpServer/", "model/", "modelProvider/", "remoteControl/", "skills/", "thread/", "turn/"}

func isQuiet(method string) bool {
	for _, subject := range quiet {
		if strings.HasPrefix(method, subject) {
			return true
		}
	}
	return false
}

// isOurs reports whether a notification is about the main conversation, and not about a subagent's.
func (s *server) isOurs(thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thread == "" || thread == s.thread
}

func (s *server) starts(p told) {
	if !s.isOurs(p.Thread.v) {
		return
	}
	s.items.answer = ""
	s.used = turnUsage{}
	s.over = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs(p.Turn.ID.v)
}

// completes reports the end of a turn.
func (s *server) completes(p told) []agent.Line {
	if !s.isOurs(p.Thread.v) {
		return nil
	}
	lines := usageOf(s.used)
	switch why := p.Turn.Error.v.Message.v; {
	case p.Turn.Status.v == "completed":
		lines = append(lines, s.result(s.items.answer, false)...)
	case why != "":
		lines = append(lines, s.result(why, true)...)
	default:
		lines = append(lines, s.result("ended as "+p.Turn.Status.v, true)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines = append(lines, s.ended(p.Turn.ID.v)...)
	if s.opening {
		s.over = false
	}
	return lines
}

// serverUsage has the tokens of the conversation and of the last request. A resumed conversation begins with all tokens
// that it used before.
type serverUsage struct {
	Total loose[serverTokens] `json:"total"`
	Last  loose[serverTokens] `json:"last"`
}

type serverTokens struct {
	Input  count `json:"inputTokens"`
	Cached count `json:"cachedInputTokens"`
	Output count `json:"outputTokens"`
}

func (t serverTokens) tokens() agent.Tokens {
	return agent.Tokens{Input: sum(t.Input), Output: sum(t.Output), Cached: sum(t.Cached)}
}

// turnUsage counts the tokens of a turn: the conversation's tokens now, less its tokens before the first request of the
// turn.
type turnUsage struct {
	known       bool
	before, now agent.Tokens
}

func (s *server) spends(p told) {
	s.mu.Lock()
	ours := s.turn != "" && p.TurnID.v == s.turn && p.Thread.v == s.thread
	s.mu.Unlock()
	if !ours {
		return // a resumed conversation begins with the tokens of its last turn
	}
	s.used.now = p.Usage.Total.v.tokens()
	if !s.used.known {
		s.used.known, s.used.before = true, less(s.used.now, p.Usage.Last.v.tokens())
	}
}

func less(a, b agent.Tokens) agent.Tokens {
	return agent.Tokens{Input: max(0, a.Input-b.Input), Output: max(0, a.Output-b.Output), Cached: max(0, a.Cached-b.Cached)}
}

func usageOf(u turnUsage) []agent.Line {
	if !u.known {
		return nil
	}
	return usage(less(u.now, u.before))
}
