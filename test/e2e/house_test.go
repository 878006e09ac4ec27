package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/template"
	"time"

	"torno/delegation"
	"torno/internal/control"
)

// patience bounds every wait; none of the stories needs it.
const patience = 60 * time.Second

// house is an operator's machine: a watcher process, its state and an outbox.
type house struct {
	testing.TB
	engine engine
	dir    string // everything is in here
	outbox string
	config string
	client *control.Client

	mu      sync.Mutex
	log     bytes.Buffer
	process *exec.Cmd
	exited  chan error
}

// plan is what stories change in the configuration.
type plan struct {
	MaxRunning int
	Extra      string // more of the default outbox
	Profiles   string // more profiles
	Shutdown   string
	Mounts     string
	Offers     string   // more profiles on offer, each behind a comma
	Dirs       []string // to be made first
	Host       string   // the engine's socket, where it is not the usual one
}

const configuration = `version: 1
state: {{.Dir}}/state
max_running: {{or .Plan.MaxRunning 4}}
mounts: {{or .Plan.Mounts "auto"}}
shutdown: {budget: 40s, running: {{or .Plan.Shutdown "cancel"}}}
log: {format: text, level: debug}
init: {{.Bin}}/sandbox-init
{{with .Plan.Host}}docker: {host: "{{.}}"}{{end}}
profiles:
  sh:
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 30s, min: 1s, max: 5m}
{{.Plan.Profiles}}
outboxes:
  main:
    dir: {{.Outbox}}
    allow: [{{.Outbox}}/workspaces]
    read: [{{.Dir}}/shared]
    profiles: [sh{{.Plan.Offers}}]
{{.Plan.Extra}}
`

// newHouse lays everything out and starts a watcher.
func newHouse(t testing.TB, p plan) *house {
	t.Helper()
	h := &house{TB: t, engine: needEngine(t), dir: t.TempDir()}
	h.outbox = filepath.Join(h.dir, "outbox")
	h.mkdir(filepath.Join(h.outbox, "workspaces"))
	h.mkdir(filepath.Join(h.dir, "shared"))
	h.must(os.Mkdir(filepath.Join(h.dir, "state"), 0o700))
	for _, dir := range p.Dirs {
		h.mkdir(dir)
	}
	h.config = filepath.Join(h.dir, "torno.yaml")
	var text bytes.Buffer
	h.must(template.Must(template.New("").Parse(configuration)).Execute(&text, map[string]any{
		"Dir": h.dir, "Outbox": h.outbox, "Bin": bin, "Plan": p,
	}))
	h.must(os.WriteFile(h.config, text.Bytes(), 0o600))
	h.client = control.Dial(filepath.Join(h.dir, "state"))
	h.start()
	t.Cleanup(h.tearDown)
	return h
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *house) mkdir(dir string) string {
	h.Helper()
	h.must(os.MkdirAll(dir, 0o755))
	return dir
}

// start runs the watcher and waits until its door answers.
func (h *house) start() {
	h.Helper()
	h.process = exec.Command(filepath.Join(bin, "watcher"), "run", "--config", h.config)
	h.process.Stderr, h.process.Stdout = (*log)(h), (*log)(h)
	h.must(h.process.Start())
	h.exited = make(chan error, 1)
	go func(p *exec.Cmd, exited chan<- error) { exited <- p.Wait() }(h.process, h.exited)
	h.eventually("the watcher answers", func() bool {
		select {
		case err := <-h.exited:
			h.Fatalf("the watcher ended: %v\n%s", err, h.said())
		default:
		}
		_, err := h.client.Status(h.Context())
		return err == nil && h.exists(delegation.HeartbeatName)
	})
}

// log collects what the watcher says.
type log house

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (h *house) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// signal sends the watcher a signal and waits for its end.
func (h *house) signal(s syscall.Signal) error {
	h.Helper()
	h.must(h.process.Process.Signal(s))
	select {
	case err := <-h.exited:
		h.process = nil
		return err
	case <-time.After(patience):
		h.Fatalf("the watcher did not end after %s\n%s", s, h.said())
		return nil
	}
}

// tearDown ends the watcher, purges, and demands that nothing is left on the engine.
func (h *house) tearDown() {
	if h.process != nil {
		if err := h.signal(syscall.SIGTERM); err != nil {
			h.Errorf("the watcher ended with %v", err)
		}
	}
	if out, err := exec.Command(filepath.Join(bin, "watcher"), "purge", "--yes", "--config", h.config).CombinedOutput(); err != nil {
		h.Errorf("purge: %v\n%s", err, out)
	}
	for _, c := range h.engine.containers(h, "") {
		if strings.Contains(h.said(), c.Labels["torno.installation"]) {
			h.Errorf("the container %v is left", c.Names)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil && bytes.Contains(mounts, []byte(h.dir)) {
		h.Errorf("mounts are left below %s", h.dir)
	}
	if h.Failed() {
		h.Logf("the watcher said:\n%s", h.said())
	}
}

// eventually polls a condition until it holds.
func (h *house) eventually(what string, holds func() bool) {
	h.Helper()
	h.within(patience, what, holds)
}

func (h *house) within(limit time.Duration, what string, holds func() bool) {
	h.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("it never came true that %s", what)
		}
	}
}

// ask is one request; zero fields get what the real client would write.
type ask struct {
	id, request, task, workspace, answer, profile string
	timeout                                       int
	context                                       []string
	uid                                           int       // who owns the workspace
	renamed                                       time.Time // set by submit
}

func (h *house) submit(a ask) ask {
	h.Helper()
	if a.request == "" {
		a.request = "req " + a.id
	}
	if a.timeout == 0 {
		a.timeout = 30
	}
	if a.workspace == "" {
		a.workspace = h.mkdir(filepath.Join(h.outbox, "workspaces", a.id))
		h.must(os.Chown(a.workspace, a.uid, a.uid))
	}
	if a.answer == "" {
		a.answer = filepath.Join(a.workspace, "answer.txt")
	}
	body := map[string]any{
		"version": 1, "subagent_id": a.id, "request_id": a.request, "task": a.task, "yaml_config": map[string]any{},
		"answer_file": a.answer, "workspace": a.workspace, "timeout_seconds": a.timeout,
	}
	if a.profile != "" {
		body["profile"] = a.profile
	}
	if a.context != nil {
		body["context_paths"] = a.context
	}
	data, err := json.Marshal(body)
	h.must(err)
	final := filepath.Join(h.outbox, "request_"+a.id+".json")
	h.must(os.WriteFile(final+".tmp", data, 0o644))
	a.renamed = time.Now()
	h.must(os.Rename(final+".tmp", final))
	return a
}

func (h *house) path(name string) string { return filepath.Join(h.outbox, name) }

func (h *house) exists(name string) bool {
	_, err := os.Lstat(h.path(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// response waits for the answer.
func (h *house) response(a ask) (resp delegation.Response) {
	h.Helper()
	h.eventually("there is a response to "+a.request, func() bool {
		data, err := os.ReadFile(h.path("response_" + a.id + ".json"))
		if err != nil {
			return false
		}
		resp = delegation.Response{}
		h.must(json.Unmarshal(data, &resp))
		return resp.RequestID == a.request
	})
	return resp
}

// run submits and waits.
func (h *house) run(a ask) delegation.Response {
	h.Helper()
	return h.response(h.submit(a))
}

// says waits until the child of a request has printed a text.
func (h *house) says(a ask, text string) {
	h.Helper()
	var seen bytes.Buffer
	h.eventually(a.request+" says "+text, func() bool {
		ctx, cancel := context.WithTimeout(h.Context(), patience)
		defer cancel()
		seen.Reset()
		stop := errors.New("seen")
		err := h.client.Output(ctx, "main/"+a.id, true, func(o control.Output) error {
			seen.Write(o.Bytes)
			if strings.Contains(seen.String(), text) {
				return stop
			}
			return nil
		})
		return errors.Is(err, stop)
	})
}

// want checks what a client acts on.
func (h *house) want(resp delegation.Response, status delegation.Status, reason delegation.Reason, exit int) {
	h.Helper()
	if resp.Status != status || resp.Reason != reason || resp.ExitCode != exit {
		h.Errorf("%s: the response says %s, %s, %d (stdout %q, stderr %q); want %s, %s, %d",
			resp.RequestID, resp.Status, resp.Reason, resp.ExitCode, resp.StdoutTail, resp.StderrTail, status, reason, exit)
	}
}

func (h *house) touch(name string) {
	h.Helper()
	h.must(os.WriteFile(h.path(name), nil, 0o644))
}

func (h *house) read(path string) string {
	h.Helper()
	data, err := os.ReadFile(path)
	h.must(err)
	return string(data)
}
