package adapter

import (
	"bytes"
	"unicode/utf8"

	"torno/internal/agent"
)

// parser reads an agent's output, line by line.
type parser interface {
	line(text []byte) []agent.Line
	memory() *said
}

// kind is what is different from agent to agent.
type kind struct {
	name  string
	title string // with the version that is known to work
	args  func(model string, env func(string) string) []string
	env   []string // what it has unless its environment says something of it
	input func(task string) []byte
	// converses is an agent that is given its task and then waits for more: its standard input is closed at its result.
	converses bool
	// says makes the agent's own lines of what its parent says while it works; nil where it hears nothing then.
	says     func(agent.Input) [][]byte
	parser   parser
	sessions sessions
	asks     *asks // its questions, which are off; nil where it cannot ask
}

// kindOf is the agent of a name.
func kindOf(name string) (kind, bool) {
	switch name {
	case "claude":
		reader := &claude{}
		return kind{
			name: name, title: "Claude Code 2.1.330", args: claudeArgs, input: claudeTask, converses: true, says: claudeSays, parser: reader, asks: &reader.asks,
			env: []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"}, // or a turn could begin after the result
			sessions: sessions{
				variable: "CLAUDE_CONFIG_DIR", fallback: ".claude", tree: "projects", files: claudeFiles,
				resume: func(args []string, session string) []string { return append(args, "--resume="+session) },
			},
		}, true
	case "codex":
		plain := func(task string) []byte { return []byte(task) }
		return kind{
			name: name, title: "Codex 0.169.0", args: codexArgs, input: plain, parser: &codex{},
			sessions: sessions{
				variable: "CODEX_HOME", fallback: ".codex", tree: "sessions", files: codexFiles, version: rolloutVersion, resume: codexResume,
			},
		}, true
	}
	return kind{}, false
}

// read has a parser read a line, which may be any bytes.
func read(p parser, text []byte) []agent.Line {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return p.line(text)
}
