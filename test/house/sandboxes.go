package house

import (
	"os"
	"regexp"
	"runtime"
	"testing"
)

// The launchers that a plan can name.
const (
	Docker = "docker"
	GVisor = "gvisor"
)

// Launchers are all that root has.
var Launchers = []string{Docker, GVisor}

// Each runs a story with every launcher. A launcher that this machine cannot have is skipped loudly.
func Each(t *testing.T, story func(t *testing.T, sandbox string)) {
	t.Helper()
	for _, sandbox := range Launchers {
		t.Run(sandbox, func(t *testing.T) { story(t, sandbox) })
	}
}

// Sandbox is a sandbox of an installation.
type Sandbox struct {
	ID      string // the engine's own name for it, or the box's
	Sandbox string // its own id; the journal says to which run it is bound
	Running bool   // also while it holds
}

// yard is where the sandboxes of a house are. It is looked at from outside, without the product's launchers.
type yard interface {
	// sandboxes are all that exist, in any state.
	sandboxes() []Sandbox
	// remove removes a sandbox without asking the watcher.
	remove(Sandbox)
	// starts are how often each sandbox was started, by its id.
	starts() map[string]int
	// remains says what is there that belongs to no sandbox.
	remains() []string
	// left says what is there that a purge should have removed.
	left() []string
}

// Sandboxes are the sandboxes of the installation.
func (h *House) Sandboxes() []Sandbox { h.Helper(); return h.yard.sandboxes() }

// Sandbox is the installation's sandbox, where it has one.
func (h *House) Sandbox() Sandbox {
	h.Helper()
	all := h.Sandboxes()
	if len(all) == 0 {
		h.Fatal("there is no sandbox any more")
	}
	return all[0]
}

// RemoveSandbox takes one away behind the watcher's back.
func (h *House) RemoveSandbox(s Sandbox) { h.Helper(); h.yard.remove(s) }

// Starts are how often each sandbox was started, by its id, as the engine or the keepers have noted it. A sandbox that was started
// has perhaps held and never run anything: Begun counts agents.
func (h *House) Starts() map[string]int { h.Helper(); return h.yard.starts() }

// Remains say what there is of sandboxes that are gone, or are going: processes, control groups and mounts.
func (h *House) Remains() []string { h.Helper(); return h.yard.remains() }

// FoundReady is how many runs have found a sandbox that was made ahead of them.
func (h *House) FoundReady() (n int) {
	h.Helper()
	status, err := h.Client.Status(h.Context())
	h.Must(err)
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			n += shelf.Used
		}
	}
	return n
}

var greeting = regexp.MustCompile(`installation=([0-9a-f]{16})\b`)

// Installation is the id that everything the watcher makes carries.
func (h *House) Installation() (id string) {
	h.Helper()
	h.Eventually("the watcher says what it serves", func() bool { id = h.installation(); return id != "" })
	return id
}

// installation is "" when no watcher has come as far as to say it.
func (h *House) installation() string {
	if found := greeting.FindStringSubmatch(h.Said()); found != nil {
		return found[1]
	}
	return ""
}

// needYard makes sure that there can be sandboxes.
func (h *House) needYard(p Plan) {
	h.Helper()
	switch p.Sandbox {
	case Ordinary:
		h.user = ordinary
		fallthrough
	case GVisor:
		Need(h, p.Sandbox)
		h.yard = &boxYard{House: h}
		return
	}
	if p.Engine != nil {
		h.Engine = *p.Engine
	} else {
		h.Engine = NeedEngine(h)
	}
	h.yard = newEngineYard(h, !p.Uncounted)
}

// Need skips loudly where a launcher cannot be had, and fails in CI.
func Need(t testing.TB, sandbox string) {
	t.Helper()
	switch sandbox {
	case Ordinary:
		needOrdinary(t)
	case GVisor:
		NeedGVisor(t)
	default:
		NeedEngine(t)
	}
}

// NeedGVisor skips loudly where there is no gVisor, and fails in CI.
func NeedGVisor(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves real sandboxes out")
	}
	switch why := noGVisor(); {
	case why == "":
	case os.Getenv("CI") == "true":
		t.Fatal("in CI nothing that matters is skipped:", why)
	default:
		t.Skip("NOT SHOWN HERE:", why)
	}
}

// HasGVisor says whether there is gVisor.
func HasGVisor() bool { return noGVisor() == "" }

func noGVisor() string {
	if runtime.GOOS != "linux" {
		return "gVisor works on Linux only"
	}
	if _, err := os.Stat(Program(runsc)); err != nil {
		return "there is no bin/runsc; `make build` makes it"
	}
	return ""
}
