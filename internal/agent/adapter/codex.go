package adapter

import (
	"encoding/json"
	"fmt"
	"strings"

	"torno/internal/agent"
)

// codexArgs makes Codex read one task from standard input, do it, and print JSON.
func codexArgs(model string, env func(string) string) []string {
	args := []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
	args = append(args, codexSettings(env)...)
	if model != "" {
		args = append(args, "--model="+model)
	}
	return append(args, "-")
}

// serverArgs makes Codex run as a server. Everything else is sent to it in requests.
func serverArgs(model string, env func(string) string) []string {
	args := append([]string{"app-server"}, codexSettings(env)...)
	if model != "" {
		args = append(args, "-c", "model="+string(inputOf(model)))
	}
	return args
}

// codexSettings returns the arguments that every Codex gets. Codex takes the address of its model from no variable.
// Unless it is told not to, it asks for plugins and sends metrics, and waits for both where there is no network.
func codexSettings(env func(string) string) (args []string) {
	if base := env("OPENAI_BASE_URL"); base != "" {
		args = append(args, "-c", "openai_base_url="+string(inputOf(base))) // a JSON string is also a TOML string
	}
	return append(args, "-c", "analytics.enabled=false", "--disable", "plugins")
}

// codexResume changes the arguments so that Codex goes on with a session.
func codexResume(args []string, session string) []string {
	resumed := []string{args[0], "resume"}
	resumed = append(resumed, args[1:len(args)-1]...)
	return append(resumed, session, "-")
}

// codex reads the output of `codex exec --json`.
type codex struct {
	said

	begun  map[string]bool // items whose call was reported, but not yet their result
	answer string          // what the model said last
}

// maxBegun bounds how many begun items are remembered.
const maxBegun = 1000

type codexLine struct {
	Type    loose[string]      `json:"type"`
	Item    json.RawMessage    `json:"item"`
	Usage   loose[codexTokens] `json:"usage"`
	Message loose[string]      `json:"message"`
	Error   loose[codexError]  `json:"error"`
	Thread  loose[string]      `json:"thread_id"`
}

type codexError struct {
	Message loose[string] `json:"message"`
}

type codexTokens struct {
	Input  count `json:"input_tokens"`
	Cached count `json:"cached_input_tokens"`
	Output count `json:"output_tokens"`
}

func (c *codex) memory() *said { return &c.said }

func (c *codex) line(text []byte) []agent.Line {
	var l codexLine
	if json.Unmarshal(text, &l) != nil {
		return raw(text)
	}
	var told []agent.Line
	switch l.Type.v {
	case "thread.started":
		c.session.id = l.Thread.v
	case "item.updated":
	case "turn.started":
		c.answer = ""
	case "item.started", "item.completed":
		told = c.item(l)
	case "turn.completed":
		told = append(c.spends(l.Usage.v), c.result(c.answer, false)...)
	case "turn.failed":
		told = c.result(l.Error.v.Message.v, true)
	case "error":
		c.trouble = l.Message.v
		told = notice(l.Message.v)
	default:
		return raw(text)
	}
	c.understood = true
	return told
}

// spends reports the tokens of a turn. Codex counts the whole thread, so spends subtracts the tokens of earlier turns.
func (c *codex) spends(now codexTokens) []agent.Line {
	before := c.session.spent
	c.session.spent = agent.Tokens{Input: sum(now.Input), Output: sum(now.Output), Cached: sum(now.Cached)}
	since := func(now count, before int64) int64 { return max(0, sum(now)-before) }
	return usage(agent.Tokens{
		Input: since(now.Input, before.Input), Output: since(now.Output, before.Output), Cached: since(now.Cached, before.Cached),
	})
}

type codexItem struct {
	ID       loose[string]     `json:"id"`
	Type     loose[string]     `json:"type"`
	Status   loose[string]     `json:"status"`
	Text     loose[string]     `json:"text"`
	Message  loose[string]     `json:"message"`
	Command  loose[string]     `json:"command"`
	Output   loose[string]     `json:"aggregated_output"`
	Exit     loose[int64]      `json:"exit_code"`
	Changes  list[codexChange] `json:"changes"`
	Server   loose[string]     `json:"server"`
	Tool     loose[string]     `json:"tool"`
	Argument json.RawMessage   `json:"arguments"`
	Query    loose[string]     `json:"query"`
	Error    loose[codexError] `json:"error"`
	Result   loose[struct {
		Content content `json:"content"`
	}] `json:"result"`
}

type codexChange struct {
	Path loose[string] `json:"path"`
	Kind loose[string] `json:"kind"`
}

// item reports a step of a turn: a text of the model, or a tool's call and its result.
func (c *codex) item(l codexLine) []agent.Line {
	var i codexItem
	_ = json.Unmarshal(l.Item, &i) // an item that is no object has no type
	completed := l.Type.v == "item.completed"
	c.spoke = true
	switch i.Type.v {
	case "agent_message", "reasoning", "error":
		if !completed {
			return nil
		}
	}
	switch i.Type.v {
	case "agent_message":
		c.answer = i.Text.v
		return tell(agent.Line{Kind: agent.Text, Text: i.Text.v})
	case "reasoning":
		return tell(agent.Line{Kind: agent.Thinking, Text: i.Text.v})
	case "error":
		return notice(i.Message.v)
	case "":
		return raw(l.Item)
	}
	var told []agent.Line
	if !c.begun[i.ID.v] {
		told = tell(agent.Line{Kind: agent.ToolCall, Tool: i.tool(l.Item)})
	}
	if completed {
		delete(c.begun, i.ID.v)
		return append(told, i.result()...)
	}
	if c.begun == nil {
		c.begun = map[string]bool{}
	}
	if len(c.begun) < maxBegun {
		c.begun[i.ID.v] = true
	}
	return told
}

// tool returns the call of an item. For an item of an unknown kind, the whole item is the input.
func (i *codexItem) tool(item json.RawMessage) *agent.Tool {
	tool := &agent.Tool{ID: i.ID.v, Name: i.Type.v, Input: item}
	switch i.Type.v {
	case "command_execution":
		tool.Input = inputOf(map[string]string{"command": i.Command.v})
	case "file_change":
		changes := make([]map[string]string, len(i.Changes.v))
		for n, change := range i.Changes.v {
			changes[n] = map[string]string{"kind": change.Kind.v, "path": change.Path.v}
		}
		tool.Input = inputOf(map[string]any{"changes": changes})
	case "mcp_tool_call":
		tool.Name, tool.Input = "mcp__"+i.Server.v+"__"+i.Tool.v, i.Argument
	case "web_search":
		tool.Input = inputOf(map[string]string{"query": i.Query.v})
	}
	return tool
}

func (i *codexItem) result() []agent.Line {
	var texts []string
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	if i.Exit.v != 0 {
		add(fmt.Sprintf("exit code %d", i.Exit.v))
	}
	add(i.Error.v.Message.v)
	add(i.Output.v)
	add(i.Result.v.Content.text)
	failed := i.Exit.v != 0 || i.Error.v.Message.v != "" || i.Status.v == "failed" || i.Status.v == "declined"
	return tell(agent.Line{Kind: agent.ToolResult, Tool: &agent.Tool{ID: i.ID.v}, Text: strings.Join(texts, "\n"), Failed: failed})
}
