package manager

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"torno/delegation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host plays the watcher's part of an outbox, through the same door as the real one.
type host struct {
	t    *testing.T
	path string
	dir  *delegation.Dir
	beat delegation.Heartbeat // the next one
}

// newHost makes an outbox that is served, and whose heart was heard just now.
func newHost(t *testing.T) *host {
	t.Helper()
	path := t.TempDir()
	dir, err := delegation.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	h := &host{t: t, path: path, dir: dir, beat: delegation.Heartbeat{
		Version: 1, Protocol: 1, Watcher: "test", HeartbeatSeconds: 5, StartedAt: time.Now(),
		Features: []string{delegation.FeatureStatus, delegation.FeatureEvents},
		Limits:   delegation.WireLimits{RequestBytes: 1 << 20},
		Profiles: []delegation.ProfileOffer{{Name: "shell"}, {Name: "massgen"}},
	}}
	h.sendBeat()
	return h
}

// client opens the outbox as a client that polls only, so that it works in a bubble of synctest.
func (h *host) client(o Options) *Manager {
	h.t.Helper()
	m, err := New(h.path, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { m.Close() })
	m.hints.start.Do(func() {})
	return m
}

// spawn asks for a run of a task and must succeed.
func (h *host) spawn(m *Manager, o SpawnOptions) *Run {
	h.t.Helper()
	if o.Task == "" {
		o.Task = "true"
	}
	run, err := m.Spawn(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	return run
}

// later does something after a time of the bubble. The test does not end before it did.
func (h *host) later(d time.Duration, do func()) {
	var done sync.WaitGroup
	done.Add(1)
	time.AfterFunc(d, func() { defer done.Done(); do() })
	h.t.Cleanup(done.Wait)
}

// take waits for a run's result and acknowledges it.
func take(ctx context.Context, r *Run) (Result, error) {
	result, err := r.Wait(ctx)
	if err != nil {
		return result, err
	}
	return result, r.Acknowledge(result)
}

func (h *host) sendBeat() {
	h.t.Helper()
	h.beat.BeatAt = time.Now()
	h.publish(delegation.HeartbeatName, must(h.beat.Encode()))
}

// live beats until the returned function is called.
func (h *host) live() (die func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var heart sync.WaitGroup
	heart.Go(func() {
		tick := time.NewTicker(time.Duration(h.beat.HeartbeatSeconds) * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.sendBeat()
			}
		}
	})
	die = sync.OnceFunc(func() { cancel(); heart.Wait() })
	h.t.Cleanup(die)
	return die
}

// respond answers a run; with changes it answers something else.
func (h *host) respond(r *Run, changes ...func(*delegation.Response)) {
	h.t.Helper()
	response := delegation.Response{
		Version: 1, SubagentID: r.ID(), RequestID: r.RequestID(), Status: delegation.StatusCompleted,
		Reason: delegation.ReasonExited, StartedAt: time.Now(), CompletedAt: time.Now(),
	}
	for _, change := range changes {
		change(&response)
	}
	h.publish(delegation.ResponseName(r.id), must(response.Encode()))
}

// tell publishes where a run stands.
func (h *host) tell(r *Run, state delegation.State, changes ...func(*delegation.RunStatus)) {
	h.t.Helper()
	status := delegation.RunStatus{
		Version: 1, SubagentID: r.ID(), RequestID: r.RequestID(), State: state, UpdatedAt: time.Now(),
	}
	for _, change := range changes {
		change(&status)
	}
	h.publish(delegation.StatusName(r.id), must(status.Encode()))
}

func (h *host) publish(name string, data []byte) {
	h.t.Helper()
	if err := h.dir.Publish(name, data); err != nil {
		h.t.Error(err)
	}
}

// names are the files of the outbox, without the heartbeat.
func (h *host) names() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.path)
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != delegation.HeartbeatName && e.Name() != Workspaces && e.Name() != TakenDir {
			names = append(names, e.Name())
		}
	}
	return names
}

func (h *host) join(name string) string { return filepath.Join(h.path, name) }

// write puts a file where a test wants it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
