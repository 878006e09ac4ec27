package house

// Plan is what stories change in the configuration.
type Plan struct {
	MaxRunning int
	Allow      []string // more roots for workspaces
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
}

const configuration = `version: 1
state: {{.State}}
max_running: {{or .Plan.MaxRunning 4}}
mounts: {{or .Plan.Mounts "auto"}}
shutdown: {budget: 40s, running: {{or .Plan.Shutdown "cancel"}}}
log: {format: text, level: debug}
init: {{.Bin}}/sandbox-init
{{.Plan.Top}}
{{with .Plan.Host}}docker: {host: "{{.}}"}{{end}}
profiles:
  sh:
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 30s, min: 1s, max: 5m}
{{.Plan.Profiles}}
outboxes:
  main:
    dir: {{.Outbox}}
    allow: [{{.Outbox}}/workspaces{{range .Plan.Allow}}, {{.}}{{end}}]
    read: [{{.Dir}}/shared]
    profiles: [sh{{.Plan.Offers}}]
{{.Plan.Extra}}
`
