package house

import (
	"bytes"
	"cmp"
	"os/exec"
	"regexp"
	"strings"
	"text/template"
)

// Plan has the changes of a story to the configuration.
type Plan struct {
	Sandbox    string // the launcher of all profiles, or Ordinary; "" is Docker
	MaxRunning int
	Allow      []string // more roots for workspaces
	Read       []string // more roots for context
	Extra      string   // more of the default outbox
	Top        string   // more keys of the configuration
	Profiles   string   // more profiles
	Shutdown   string
	Mounts     string
	Offers     string   // more profiles on offer, each behind a comma
	Dirs       []string // to be made first
	Host       string   // the engine's socket, where it is not the usual one
	Engine     *Engine  // what is behind that socket, where it is not the usual one either
	State      string   // the state directory, where it is not in Dir
	Outbox     string   // the outbox, where it is not in Dir
	Later      bool     // the story starts the watcher itself
	Ahead      bool     // sandboxes are made ahead of runs, as they are by default: a story that counts sandboxes, starts or calls is cold
	Uncounted  bool     // the story does not call Starts: with gVisor counting takes a shell for each, with an engine a connection

	Delegated string          // the directory of a control group that is the watcher's to change
	Enter     func(*exec.Cmd) // has a command begin where the story wants it
}

const configuration = `version: 1
state: {{.State}}
max_running: {{or .Plan.MaxRunning 4}}
mounts: {{or .Plan.Mounts "auto"}}
shutdown: {budget: 40s, running: {{or .Plan.Shutdown "cancel"}}}
log: {format: text, level: debug}
init: {{.Bin}}/sandbox-init
{{with .Accept}}accept: [{{.}}]{{end}}
{{.Plan.Top}}
{{if not .Pool}}pool: {size: off}{{end}}
{{with .Plan.Host}}docker: {host: "{{.}}"}{{end}}
{{with .Keeper}}gvisor: {keeper: "{{.}}"}{{end}}
profiles:
  sh:
    sandbox: {{.Sandbox}}
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 2m, min: 1s, max: 5m}
{{.Profiles}}
outboxes:
  main:
    dir: {{.Outbox}}
    allow: [{{.Outbox}}/workspaces{{range .Plan.Allow}}, {{.}}{{end}}]
    read: [{{.Dir}}/shared{{range .Plan.Read}}, {{.}}{{end}}]
    profiles: [sh{{.Plan.Offers}}]
{{with .Owners}}    owners: [{{.}}]{{end}}
{{.Plan.Extra}}
`

// profile is where one begins, among other keys of the configuration.
var profile = regexp.MustCompile(`(?m)^  [a-z]+:$`)

// configure writes the configuration of a plan.
func (h *House) configure(p Plan) []byte {
	h.Helper()
	sandbox, keeper, accept, owners := cmp.Or(p.Sandbox, Docker), "", "", ""
	if h.user == 0 && !strings.Contains(p.Extra, "owners:") {
		owners = "0, 1000" // root's outbox, in which stories make workspaces for root and for a user
	}
	if h.user != 0 {
		sandbox = GVisor
	}
	if h.user != 0 && p.Delegated == "" {
		accept = "memory, pids" // what needs control groups, of which such a user has none
	}
	if boxes, ok := h.yard.(*boxYard); ok && !p.Uncounted {
		keeper = boxes.count()
	}
	var text bytes.Buffer
	h.Must(template.Must(template.New("").Parse(configuration)).Execute(&text, map[string]any{
		"Dir": h.Dir, "State": h.State, "Outbox": h.Outbox, "Bin": bin, "Plan": p, "Sandbox": sandbox, "Keeper": keeper, "Accept": accept, "Owners": owners,
		"Pool":     p.Ahead || strings.Contains(p.Top, "pool:"),
		"Profiles": profile.ReplaceAllString(p.Profiles, "$0\n    sandbox: "+sandbox),
	}))
	return text.Bytes()
}
