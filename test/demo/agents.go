package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/internal/control"
	"torno/manager"
	"torno/test/agents"
	"torno/test/upstream/standin"
)

// delegating is the play of real agents: Claude Code in a sandbox has the tools of subagent mcp, and has a Codex and a Claude Code do tasks
// in sandboxes of their own. The models of all three are one stand-in, which only the two gateways reach.
//
// There are two watchers: the operator's starts the parent, and the other one serves the outbox that the parent has in its workspace.
type delegating struct {
	*page
	operator  *stage
	parents   *stage // the one that serves the parent
	installed string // where the agents are
	desk      string // the parent's workspace
	key       string // which the upstream wants, and only the gateways have
	upstream  string
	told      map[string]bool // the lines that were shown of what tools brought
}

// performAgents sets up, has the agents play, and takes everything away again.
func performAgents(installed string) performance {
	return func(ctx context.Context, e *engine, p *page) (marks []string, err error) {
		d := &delegating{page: p, installed: installed, key: "sk-demo-" + rand.Text(), told: map[string]bool{}}
		for _, s := range []**stage{&d.operator, &d.parents} {
			if *s, err = newStage(e, p); err != nil {
				return marks, err
			}
			defer func() { err = (*s).strike(ctx, err); marks = append(marks, (*s).marks...) }()
		}
		for _, step := range []func(context.Context) error{d.build, d.layOut, d.openModel, d.open, d.delegate, d.bill, d.lookAtFile} {
			if err := step(ctx); err != nil {
				return marks, err
			}
		}
		return marks, nil
	}
}

// build builds the programs once for both watchers, and the client's where the parent will find it.
func (d *delegating) build(ctx context.Context) error {
	d.parents.programs = d.operator.programs
	if err := d.operator.build(ctx); err != nil {
		return err
	}
	return goBuild(ctx, d.operator.path("tools")+"/", "torno/cmd/subagent")
}

// layOut makes the places of both watchers. The parent's outbox is in its workspace, beside the project that it works on.
func (d *delegating) layOut(ctx context.Context) error {
	d.operator.serves, d.parents.serves = "the operator, who has one child: the parent", "the parent, in an outbox in its workspace"
	d.operator.owner, d.desk = os.Geteuid(), d.operator.path("desks/parent")
	d.parents.outbox = filepath.Join(d.desk, "outbox")
	project := filepath.Join(d.desk, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(project, "notes.txt"), []byte(firstLine), 0o644); err != nil {
		return err
	}
	for _, path := range []string{d.desk, project, filepath.Join(project, "notes.txt")} {
		if err := os.Chown(path, d.parents.owner, d.parents.owner); err != nil {
			return err
		}
	}
	return errors.Join(d.operator.layOut(ctx), d.parents.layOut(ctx))
}

// openModel has a stand-in for the models' upstreams listen on this machine, until the operator's stage is struck.
func (d *delegating) openModel(context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.upstream = "http://" + listener.Addr().String()
	d.operator.model = &http.Server{Handler: standin.New(d.key), ReadHeaderTimeout: time.Minute}
	go d.operator.model.Serve(listener)
	return nil
}

// open configures both watchers and starts them.
func (d *delegating) open(ctx context.Context) error {
	parent, err := d.profile("parent", agents.Claude, d.tools())
	if err != nil {
		return err
	}
	children := ""
	for _, a := range []agents.Agent{agents.Claude, agents.Codex} {
		profile, err := d.profile(a.Name, a, "")
		if err != nil {
			return err
		}
		children += profile
	}
	own := fmt.Sprintf("{dir: %q, allow: [%q], owners: [%d], profiles: [parent]}", d.operator.outbox, filepath.Dir(d.desk), d.parents.owner)
	given := fmt.Sprintf("{dir: %q, allow: [%q], profiles: [codex, claude]}", d.parents.outbox, filepath.Join(d.parents.outbox, manager.Workspaces))
	for _, s := range []struct {
		*stage
		profiles, offer string
	}{{d.operator, parent, own}, {d.parents, children, given}} {
		err := errors.Join(os.WriteFile(s.path("key"), []byte(d.key), 0o600), os.WriteFile(s.path("watcher.yaml"), d.configuration(s.stage, s.profiles, s.offer), 0o600))
		if err != nil {
			return err
		}
		if err := s.startWatcher(ctx); err != nil {
			return err
		}
		if err := s.findGateway(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *delegating) configuration(s *stage, profiles, outbox string) []byte {
	to := fmt.Sprintf("http_to: 127.0.0.1, private: true, credential: {file: %q}", s.path("key"))
	return fmt.Appendf(nil, `version: 1
state: %[1]q
shutdown: {running: cancel}
gateway:
  routes:
    claude: {preset: anthropic, upstream: %[2]q, %[3]s}
    codex: {preset: openai, upstream: "%[4]s/v1", %[3]s}
  prices: {claude: {"*": {input: 5, output: 25}}, codex: {"*": {input: 5, output: 25}}}
profiles:
%[5]soutboxes:
  demo: %[6]s
`, s.path("state"), d.upstream, to, d.upstream, profiles, outbox)
}

// profile is what our example of a configuration has for an agent, on the machine's own programs.
func (d *delegating) profile(name string, a agents.Agent, more string) (string, error) {
	keys, err := a.Profile(map[string]any{"PATH": a.Path(d.installed, toolsInside)})
	programs := fmt.Sprintf("%q", d.installed)
	if more != "" {
		programs += fmt.Sprintf(", {host: %q, as: %s}", d.operator.path("tools"), toolsInside)
	}
	return fmt.Sprintf(`  %s:
    sandbox: auto
    timeout: {default: 2m, min: 1s, max: 5m}
    limits: {memory: 2GiB, tmp: 256MiB, home: 256MiB, log: 8MiB, pids: 256}
    programs: [%s]
    routes: [%s]
%s%s`, name, programs, a.Name, keys, more), err
}

// toolsInside is where the parent finds subagent.
const toolsInside = "/opt/torno"

// tools has the parent's Claude Code start the server of our tools.
func (d *delegating) tools() string {
	type object = map[string]any
	server := object{"command": "subagent", "args": []string{"mcp", "--outbox", d.parents.outbox}}
	command := []string{"claude", "--mcp-config", inJSON(object{"mcpServers": object{"torno": server}}), "--allowedTools=mcp__torno"}
	return "    command: " + inJSON(command) + "\n"
}

// bill shows what each agent spent on its model by its gateway's account.
func (d *delegating) bill(ctx context.Context) error {
	d.head("What the gateways saw")
	d.say("  %-12s %-12s %9s %11s %11s  %s", "", "sandbox", "requests", "tokens in", "tokens out", "money")
	for _, a := range []struct {
		door     *control.Client
		who      string
		requests int64
	}{{d.operator.door, parentName, int64(len(d.script()))}, {d.parents.door, codexName, 2}, {d.parents.door, claudeName, 2}} {
		run, err := a.door.Run(ctx, a.who)
		if err != nil {
			return err
		}
		if run.Usage == nil || run.Usage.Model == nil || run.Usage.Model.Requests != a.requests {
			return fmt.Errorf("%s had to spend %d requests, and spent %+v", a.who, a.requests, run.Usage)
		}
		m := run.Usage.Model
		d.say("  %-12s %-12s %9d %11d %11d  %s", a.who, run.Launcher, m.Requests, m.InputTokens, m.OutputTokens, m.Money)
	}
	d.say("  The key was with the gateways alone.")
	return nil
}

// lookAtFile looks at what the parent has taken over from its child.
func (d *delegating) lookAtFile(context.Context) error {
	text, err := os.ReadFile(filepath.Join(d.desk, "project/notes.txt"))
	if err != nil {
		return err
	}
	if string(text) != firstLine+secondLine {
		return fmt.Errorf("the parent's file had to have two lines, and has %q", text)
	}
	d.head("The parent's file")
	d.say("  notes.txt has the line that %s wrote in its copy: %s", codexName, strings.TrimSpace(secondLine))
	return nil
}
