package clients

import (
	_ "embed"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/agents"
	"torno/test/house"
	"torno/test/upstream/standin"
)

const upstreamKey = "sk-stand-in-0123456789"

// client is one of the programs.
type client struct {
	agents.Agent
	model   string
	limit   string            // what its example has it say of an answer's length, where it can say something
	tool    string            // what the stand-in is told to have a shell's command run; it lacks the command
	run     string            // the program and its arguments; it reads its task from standard input
	streams string            // the same, where what it prints has the parts of an answer as they come
	part    string            // what it prints of the first part
	top     string            // more keys of the configuration
	asks    map[string]string // profiles in which it asks for approval, and how
	talks   bool              // it is told and asked by its server, which not all of its profiles want
	shell   string            // its tool that runs a command, as its questions name it
}

var claude = client{
	Agent:   agents.Claude,
	model:   "claude-opus-5-5",
	limit:   `"max_tokens":32000`,
	tool:    `#tool Bash {"command":%q,"description":"d"}`,
	run:     "claude --print --dangerously-skip-permissions",
	streams: "claude --print --dangerously-skip-permissions --verbose --output-format stream-json --include-partial-messages",
	part:    `"text_delta"`,
	asks: map[string]string{
		"asking": `{allow: [{tool: Bash, words: [touch, allowed.txt]}], deny: [{tool: Bash, words: [touch, denied.txt]}], expires: 2m}`,
		"hasty":  `{expires: 5s}`,
	},
	shell: "Bash",
}

const codexFlags = ` -c openai_base_url=\"$OPENAI_BASE_URL\" -c analytics.enabled=false -c model=\"gpt-5.5\" --disable plugins`

var codex = client{
	Agent:   agents.Codex,
	model:   "gpt-5.5",
	tool:    `#tool exec_command {"cmd":%q}`,
	run:     "codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox" + codexFlags + " -",
	streams: "cat >converse.sh <<'SCRIPT'\n" + converse + "SCRIPT\nbash converse.sh" + codexFlags,
	part:    "item/agentMessage/delta",
	asks: map[string]string{
		"asking": `{allow: [{tool: command_execution, words: [touch, allowed.txt]}], deny: [{tool: command_execution, words: [touch, denied.txt]}], expires: 2m}`,
		"hasty":  `{expires: 5s}`,
	},
	shell: "command_execution",
}

// codexServer is Codex as it is where messages are wanted.
var codexServer = func() client {
	c := codex
	c.talks = true
	return c
}()

// label names a client among all ways to run one.
func (c client) label() string {
	if c.talks {
		return c.Name + "-server"
	}
	return c.Name
}

//go:embed testdata/converse.sh
var converse string

// stage is a house with profiles for one client, and the upstream behind its gateway.
type stage struct {
	*house.House
	client
	installed string // the directory with its programs, which its sandboxes see
	up        *standin.Upstream
	url       string // the upstream's own
	key       string // the file with the credential
}

// budgets is the budget of a profile.
var budgets = regexp.MustCompile(`(?m)^    budget: .*\n`)

// stageFor makes one. The profile "client" has no limits, "poor" may ask once, "short" twice, the second time
// only for its final answer, "example" is our examples' profile, "copied" the same with a
// copied workspace, "spent" the same with one request, and "says" has a script in its workspace as the agent.
func stageFor(t testing.TB, c client, sandbox string, prepare func(*standin.Upstream)) *stage {
	t.Helper()
	house.Need(t, sandbox)
	s := &stage{client: c, up: standin.New(upstreamKey), key: filepath.Join(t.TempDir(), "key")}
	// Codex has more beside its program, which it looks for at its own place.
	s.installed = needClients(t)
	if prepare != nil {
		prepare(s.up)
	}
	server := httptest.NewServer(s.up)
	t.Cleanup(server.Close)
	s.url = server.URL
	if err := os.WriteFile(s.key, []byte(upstreamKey), 0o600); err != nil {
		t.Fatal(err)
	}
	to := fmt.Sprintf("http_to: 127.0.0.1, private: true, credential: {file: %q}", s.key)
	profile := fmt.Sprintf(`
    timeout: {default: 2m, min: 1s, max: 5m}
    limits: {memory: 2GiB, tmp: 256MiB, home: 256MiB, log: 8MiB, pids: 256}
    routes: [%s]
`, c.Name)
	env := map[string]any{"PATH": c.Path(s.installed)}
	offers, asking := "", ""
	example := exampleFor(t, c, env)
	if c.talks {
		example += "    messages: true\n"
	}
	for name, approvals := range c.asks {
		offers += ", " + name
		asking += "  " + name + ":" + profile + example + "    approvals: " + approvals + "\n"
	}
	plain := profile + "    env: " + inJSON(env) + "\n"
	s.House = house.New(t, house.Plan{
		Sandbox: sandbox, Offers: ", client, poor, short, example, copied, spent, says" + offers, Read: []string{s.installed}, MaxRunning: 5,
		Top: fmt.Sprintf(`gateway:
  routes:
    claude: {preset: anthropic, upstream: %q, %s}
    codex: {preset: openai, upstream: %q, %s}
  prices:
    claude: {"*": {input: 5, output: 25}}
    codex: {"*": {input: 5, output: 25}}`, server.URL, to, server.URL+"/v1", to) + c.top,
		Profiles: "  client:" + plain + "  poor:" + plain + "    budget: {run: {requests: 1}}\n" +
			"  short:" + plain + "    budget: {run: {requests: 2, keep_for_last: 50}}\n" + "  example:" + profile + example + "  copied:" + profile + example + "    workspace: copy\n" + "  spent:" + profile + budgets.ReplaceAllString(example, "    budget: {run: {requests: 1}}\n") +
			"  says:" + profile + "    agent: " + c.Name + "\n    model: " + c.Name + "\n    command: [/bin/sh, ./agent]\n" + asking,
	})
	return s
}

// ask is a request that has the client do a task.
func (s *stage) ask(id, profile, program, task string) house.Ask {
	return house.Ask{
		ID: id, Profile: profile, Context: []string{s.installed}, Timeout: 120,
		Task: program + " <<'TASK'\n" + task + "\nTASK\n",
	}
}

func (s *stage) wantPrinted(resp delegation.Response, text string) {
	s.Helper()
	if !strings.Contains(resp.StdoutTail+resp.StderrTail, text) {
		s.Errorf("%s printed %q and %q; want %q in it", resp.RequestID, resp.StdoutTail, resp.StderrTail, text)
	}
}
