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

// errLate refuses an input that came after the agent's last turn.
var errLate = errors.New("it had ended its last turn")

// kind holds everything that differs from agent to agent.
type kind struct {
	name  string
	title string // its name, with the version that is known to work
	args  func(model string, env func(string) string) []string
	env   []string // variables that it gets unless its environment already has them
	input func(task string) []byte
	// converses marks an agent that gets its task and then waits for more. After its result the adapter closes the
	// agent's standard input.
	converses bool
	// says, server and files are three ways to give the agent its parent's messages while it works: says turns a
	// message into the agent's own lines, server sends it to the agent's server, and with files the agent reads it from
	// a file. An agent with none of the three hears nothing while it works.
	says     func(agent.Input) [][]byte
	server   *server
	parser   parser
	sessions sessions
	// settings turns Settings into arguments and files for the agent; nil if it takes none.
	settings func(s agent.Settings, asks bool, put put) (given, error)
	asks     *asks // its questions; off until it is told to ask; nil if it cannot ask
	// files is for an agent that reports its work in files and takes its task as an argument; nil for all others.
	files *massgen
}

// hears reports whether the agent takes its parent's messages while it works.
func (k *kind) hears() bool { return k.says != nil || k.server != nil || k.files != nil }

// kindOf returns the agent of this name. If the agent can be driven in two ways, byServer chooses its server: only
// there it takes messages and asks.
func kindOf(name string, byServer bool) (kind, bool) {
	switch name {
	case "claude":
		reader := &claude{}
		return kind{
			name: name, title: "Claude Code 2.1.330", args: claudeArgs, input: claudeTask, converses: true, says: claudeSays, parser: reader, asks: &reader.asks, settings: claudeSettings,
			env: []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"}, // otherwise a turn could begin after the result
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

// codexServer returns Codex as its server drives it.
func codexServer() kind {
	s := &server{reply: func([]byte) {}}
	asIs := func(args []string, _ string) []string { return args } // a request names the conversation
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
