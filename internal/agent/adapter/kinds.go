package adapter

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"torno/internal/agent"
)

// parser reads an agent's output, line by line.
type parser interface {
	line(text []byte) []agent.Line
	memory() *said
}

// errLate is what came when the agent had ended its last turn.
var errLate = errors.New("it had ended its last turn")

// kind is what is different from agent to agent.
type kind struct {
	name  string
	title string // with the version that is known to work
	args  func(model string, env func(string) string) []string
	env   []string // what it has unless its environment says something of it
	input func(task string) []byte
	// converses is an agent that is given its task and then waits for more: its standard input is closed at its result.
	converses bool
	// says makes the agent's own lines of what its parent says while it works, and server is told it instead; files takes it from a file; without any it hears nothing then.
	says     func(agent.Input) [][]byte
	server   *server
	parser   parser
	sessions sessions
	// settings makes of settings what the agent reads; nil where it takes none.
	settings func(s agent.Settings, asks bool, put put) (given, error)
	asks     *asks // its questions, which are off; nil where it cannot ask
	// files is an agent that tells what it does in files, and takes its task as an argument; nil for all others.
	files *massgen
}

// hears says whether the agent takes what its parent says while it works.
func (k *kind) hears() bool { return k.says != nil || k.server != nil || k.files != nil }

// kindOf is the agent of a name. An agent that can be driven in two ways takes messages and asks in one of them, which is by its server.
func kindOf(name string, byServer bool) (kind, bool) {
	switch name {
	case "claude":
		reader := &claude{}
		return kind{
			name: name, title: "Claude Code 2.1.330", args: claudeArgs, input: claudeTask, converses: true, says: claudeSays, parser: reader, asks: &reader.asks, settings: claudeSettings,
			env: []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"}, // or a turn could begin after the result
			sessions: sessions{
				variable: "CLAUDE_CONFIG_DIR", fallback: ".claude", tree: "projects", files: claudeFiles,
				resume: func(args []string, session string) []string { return append(args, "--resume="+session) },
			},
		}, true
	case "codex":
		if byServer {
			return codexServer(), true
		}
		plain := func(task string) []byte { return []byte(task) }
		return kind{
			name: name, title: codexTitle, args: codexArgs, input: plain, parser: &codex{},
			sessions: codexSessions(codexResume),
		}, true
	case "massgen":
		return massgenKind(), true
	}
	return kind{}, false
}

func codexSessions(resume func(args []string, session string) []string) sessions {
	return sessions{variable: "CODEX_HOME", fallback: ".codex", tree: "sessions", files: codexFiles, version: rolloutVersion, resume: resume}
}

// codexServer is Codex, driven by its server.
func codexServer() kind {
	s := &server{reply: func([]byte) {}}
	asIs := func(args []string, _ string) []string { return args } // the conversation is named in a request
	return kind{
		name: "codex", title: codexTitle, args: serverArgs, input: s.open, converses: true, server: s, parser: s, sessions: codexSessions(asIs), asks: &s.asks,
	}
}

// read has a parser read a line, which may be any bytes.
func read(p parser, text []byte) []agent.Line { return readBy(p.line, text) }

func readBy(line func(text []byte) []agent.Line, text []byte) []agent.Line {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return line(text)
}
