package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"torno/internal/agent"
)

const skipPermissions = "--dangerously-skip-permissions"

// claudeArgs makes Claude Code talk JSON both ways. It joins each value to its flag in one word, because some flags
// take every word that follows.
func claudeArgs(model string, _ func(string) string) []string {
	args := []string{"--print", "--input-format=stream-json", "--output-format=stream-json", "--verbose", skipPermissions}
	if model != "" {
		args = append(args, "--model="+model)
	}
	return args
}

// claudeTask turns a text into the one line that Claude Code reads. A line that is not JSON would end it.
func claudeTask(task string) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, err := json.Marshal(struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}{"user", message{"user", task}})
	if err != nil {
		panic(err) // a text can always be encoded
	}
	return append(line, '\n')
}

// claudeSays turns an input into lines that Claude Code reads while it works. An interrupt does not drop messages that
// were queued before it.
func claudeSays(in agent.Input) (lines [][]byte) {
	if in.Kind == agent.Interrupt {
		lines = append(lines, fmt.Appendf(nil, `{"type":"control_request","request_id":"torno-%d","request":{"subtype":"interrupt"}}`+"\n", in.N))
	}
	if in.Text != "" {
		lines = append(lines, claudeTask(in.Text))
	}
	return lines
}

// claude reads the output of `claude --print --output-format stream-json`.
type claude struct {
	said

	greeted bool // the line that begins every turn has come once
	asks    asks
}

type claudeLine struct {
	Type    loose[string] `json:"type"`
	Subtype loose[string] `json:"subtype"`
	Session loose[string] `json:"session_id"`
	Parent  loose[string] `json:"parent_tool_use_id"`
	Message claudeMessage `json:"message"`

	claudeSystem
	claudeResult
}

type claudeBlock struct {
	Type     loose[string]   `json:"type"`
	Text     loose[string]   `json:"text"`
	Thinking loose[string]   `json:"thinking"`
	ID       loose[string]   `json:"id"`
	Name     loose[string]   `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   loose[string]   `json:"tool_use_id"`
	Content  content         `json:"content"`
	IsError  loose[bool]     `json:"is_error"`
}

// claudeMessage is a message of the model or the user. In a system line it is a plain text.
type claudeMessage struct {
	text string
	list[claudeBlock]
}

func (m *claudeMessage) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &m.text)
	}
	var whole struct {
		Content blocks `json:"content"`
	}
	_ = json.Unmarshal(data, &whole) // a value that is no object has no content
	m.list = whole.Content.list
	return nil
}

// blocks is the content of a message, which may be a plain text.
type blocks struct{ list[claudeBlock] }

func (b *blocks) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		text := claudeBlock{Type: loose[string]{"text"}}
		b.v = append(b.v, text)
		return json.Unmarshal(data, &b.v[0].Text)
	}
	return json.Unmarshal(data, &b.list)
}

func (c *claude) memory() *said { return &c.said }

func (c *claude) line(text []byte) []agent.Line {
	var l claudeLine
	if json.Unmarshal(text, &l) != nil {
		return raw(text)
	}
	var told []agent.Line
	switch l.Type.v {
	case "assistant":
		c.spoke = true
		told = l.assistant()
	case "user":
		told = l.user()
	case "system":
		told = c.system(l)
	case "result":
		told = c.ends(l)
	case "control_request":
		told = c.asks.control(controlOf(text))
	case "control_cancel_request":
		told = c.asks.withdraw(controlOf(text).ID.v)
	case "stream_event", "command_lifecycle", "control_response", "rate_limit_event", "keep_alive":
	default:
		return raw(text)
	}
	c.understood = true
	return told
}

func (l *claudeLine) assistant() []agent.Line {
	var told []agent.Line
	for _, b := range l.Message.v {
		switch kind := b.Type.v; {
		case kind == "text":
			told = append(told, tell(agent.Line{Kind: agent.Text, Text: b.Text.v, Parent: l.Parent.v})...)
		case kind == "thinking":
			told = append(told, tell(agent.Line{Kind: agent.Thinking, Text: b.Thinking.v, Parent: l.Parent.v})...)
		case strings.HasSuffix(kind, "tool_use"): // a tool of ours, of the model's own server, or of MCP
			tool := agent.Tool{ID: b.ID.v, Name: b.Name.v, Input: b.Input}
			told = append(told, tell(agent.Line{Kind: agent.ToolCall, Tool: &tool, Parent: l.Parent.v})...)
		case strings.HasSuffix(kind, "tool_result"):
			told = append(told, b.result(l.Parent.v)...)
		}
	}
	return append(told, l.cutShort()...)
}

// user reports tool results. A text that the agent says in the user's place becomes a notice. A subagent's task is left
// out, because the call that started the subagent has already reported it.
func (l *claudeLine) user() []agent.Line {
	var told []agent.Line
	for _, b := range l.Message.v {
		switch kind := b.Type.v; {
		case strings.HasSuffix(kind, "tool_result"):
			told = append(told, b.result(l.Parent.v)...)
		case kind == "text" && l.Parent.v == "" && !l.Replay.v:
			told = append(told, notice(b.Text.v)...)
		}
	}
	return append(told, l.cutShort()...)
}

func (b *claudeBlock) result(parent string) []agent.Line {
	return tell(agent.Line{
		Kind: agent.ToolResult, Tool: &agent.Tool{ID: b.CallID.v}, Text: b.Content.text, Failed: b.IsError.v, Parent: parent,
	})
}

func (l *claudeLine) cutShort() []agent.Line {
	if !l.Message.more {
		return nil
	}
	return notice(fmt.Sprintf("a message has more than %d parts; the rest of it is left out", maxElements))
}

// claudeSystem has the fields of all system lines. Each line has some of them.
type claudeSystem struct {
	Replay  loose[bool]        `json:"isReplay"`
	Version loose[string]      `json:"claude_code_version"`
	Model   loose[string]      `json:"model"`
	Servers list[claudeServer] `json:"mcp_servers"`
	Content loose[string]      `json:"content"`
	Tool    loose[string]      `json:"tool_name"`
	Attempt loose[json.Number] `json:"attempt"`
	Retries loose[json.Number] `json:"max_retries"`
	Delay   loose[json.Number] `json:"retry_delay_ms"`
	Status  loose[json.Number] `json:"error_status"`
	Error   loose[string]      `json:"error"`
}

type claudeServer struct {
	Name   loose[string] `json:"name"`
	Status loose[string] `json:"status"`
}

func (c *claude) system(l claudeLine) []agent.Line {
	switch l.Subtype.v {
	case "init":
		return c.greet(l)
	case "api_retry":
		c.trouble = strings.TrimSpace(fmt.Sprintf("%s %s", l.Status.v, l.Error.v))
		return notice(fmt.Sprintf("asks the model again in %s ms, %s of %s: %s", l.Delay.v, l.Attempt.v, l.Retries.v, c.trouble))
	case "permission_denied":
		return notice(fmt.Sprintf("%s was denied: %s", l.Tool.v, l.Message.text))
	case "informational":
		return notice(l.Content.v)
	}
	return nil
}

// greet reports, once, the agent's version and model, and which of its MCP servers failed.
func (c *claude) greet(l claudeLine) []agent.Line {
	if c.greeted {
		return nil
	}
	c.greeted = true
	told := notice(fmt.Sprintf("Claude Code %s, model %s", l.Version.v, l.Model.v))
	c.session.id, c.session.version = l.Session.v, l.Version.v
	if from := c.session.earlier; from != "" && from != l.Version.v {
		told = append(told, notice("the session was kept by Claude Code "+from)...)
	}
	for _, s := range l.Servers.v {
		if s.Status.v == "failed" {
			told = append(told, notice(fmt.Sprintf("the MCP server %s failed", s.Name.v))...)
		}
	}
	return told
}

type claudeResult struct {
	IsError   loose[*bool]        `json:"is_error"`
	Result    loose[string]       `json:"result"`
	Errors    list[string]        `json:"errors"`
	Since     claudeModels        `json:"model_usage_since_last_result"`
	OfSession claudeModels        `json:"modelUsage"`
	Usage     loose[claudeTokens] `json:"usage"`
}

// ends reports the end of a turn. Only is_error says whether the turn went well: Claude Code also calls a failed API
// answer "success".
func (c *claude) ends(l claudeLine) []agent.Line {
	failed := l.Subtype.v != "success"
	if l.IsError.v != nil {
		failed = *l.IsError.v
	}
	text := l.Result.v
	if failed && text == "" {
		text = strings.Join(append([]string{"ended with " + l.Subtype.v}, l.Errors.v...), ": ")
	}
	var told []agent.Line
	if spent, ok := l.tokens(); ok {
		told = usage(spent)
	}
	return append(told, c.result(text, failed)...)
}

// tokens returns the tokens of this turn, including subagents. If the agent does not report them, tokens returns the
// next best count.
func (l *claudeLine) tokens() (agent.Tokens, bool) {
	switch {
	case l.Since.there:
		return l.Since.Tokens, true
	case l.OfSession.there:
		return l.OfSession.Tokens, true
	}
	u := l.Usage.v
	spent := agent.Tokens{Input: sum(u.Input, u.Written, u.Cached), Output: sum(u.Output), Cached: sum(u.Cached)}
	return spent, spent != agent.Tokens{}
}

type claudeTokens struct {
	Input   count `json:"input_tokens"`
	Written count `json:"cache_creation_input_tokens"`
	Cached  count `json:"cache_read_input_tokens"`
	Output  count `json:"output_tokens"`
}

// claudeModels adds up the tokens spent on each model.
type claudeModels struct {
	agent.Tokens

	there bool
}

func (m *claudeModels) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if begin, _ := decoder.Token(); begin != json.Delim('{') { // data is a whole JSON value, so nothing can fail
		return nil
	}
	var input, output, cached count
	for n := 0; decoder.More() && n < maxElements; n++ {
		_, _ = decoder.Token() // the model's name
		var one struct {
			Input   count `json:"inputTokens"`
			Written count `json:"cacheCreationInputTokens"`
			Cached  count `json:"cacheReadInputTokens"`
			Output  count `json:"outputTokens"`
		}
		if decoder.Decode(&one) != nil {
			continue
		}
		m.there = true
		input.v = float64(sum(input, one.Input, one.Written, one.Cached))
		output.v, cached.v = float64(sum(output, one.Output)), float64(sum(cached, one.Cached))
	}
	m.Tokens = agent.Tokens{Input: sum(input), Output: sum(output), Cached: sum(cached)}
	return nil
}
