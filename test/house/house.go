package house

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"torno/internal/control"
)

// House is an operator's machine: a watcher process, its state and an outbox.
type House struct {
	testing.TB
	Engine Engine
	Dir    string // everything is in here
	Outbox string // the directory of the outbox "main"
	State  string // the state directory
	Config string // the configuration's file
	Client *control.Client
	Env    []string // more environment for the watchers that Start starts

	user    int // the user of the house, where it is not ours
	plan    Plan
	yard    yard
	mu      sync.Mutex
	log     bytes.Buffer
	process *exec.Cmd
	exited  chan error
}

// New lays everything out and starts a watcher. When the test ends the watcher is told to end, and nothing of its
// installation may be left on the machine.
func New(t testing.TB, p Plan) *House {
	t.Helper()
	h := &House{TB: t, plan: p}
	h.needYard(p)
	h.Dir = h.home()
	h.Outbox = cmp.Or(p.Outbox, filepath.Join(h.Dir, "outbox"))
	h.Mkdir(filepath.Join(h.Outbox, "workspaces"))
	h.Mkdir(filepath.Join(h.Dir, "shared"))
	h.State = p.State
	if h.State == "" {
		h.State = filepath.Join(h.Dir, "state")
		h.Must(os.Mkdir(h.State, 0o700))
		h.own(h.State)
	}
	for _, dir := range p.Dirs {
		h.Mkdir(dir)
	}
	h.Config = filepath.Join(h.Dir, "torno.yaml")
	h.Must(os.WriteFile(h.Config, h.configure(p), 0o600))
	h.own(h.Config)
	h.Client = control.Dial(h.State)
	t.Cleanup(h.tearDown)
	if !p.Later {
		h.Start()
	}
	return h
}

// Beside is the view of another parent, whose outbox is served by the same watcher.
func (h *House) Beside(outbox string) *House {
	return &House{TB: h.TB, Engine: h.Engine, Dir: h.Dir, Outbox: outbox, Client: h.Client, user: h.user, plan: h.plan, yard: h.yard}
}

// tearDown ends the watcher, purges, and demands that nothing is left on the machine.
func (h *House) tearDown() {
	if h.exited == nil {
		return // no watcher was ever started
	}
	switch {
	case h.process == nil:
	case h.Failed():
		_ = h.Signal(syscall.SIGQUIT) // it logs where its goroutines are, and dies
	default:
		if err := h.Signal(syscall.SIGTERM); err != nil {
			h.Errorf("the watcher ended with %v", err)
		}
	}
	if out, err := h.Command("watcher", "purge", "--yes", "--config", h.Config).CombinedOutput(); err != nil {
		h.Errorf("purge: %v\n%s", err, out)
	}
	for _, what := range h.yard.left() {
		h.Errorf("left behind: %s", what)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil && bytes.Contains(mounts, []byte(h.Dir)) {
		h.Errorf("mounts are left below %s", h.Dir)
	}
	if h.Failed() {
		h.Logf("the watcher said:\n%s", h.Said())
	}
}
