package docker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"torno/internal/mounts"
	"torno/sandbox/docker"
	"torno/sandbox/local"
	"torno/test/weak"
)

// engineTime bounds what a test asks of the engine outside of a case.
const engineTime = time.Minute

// needEngine is the engine, without which a test is skipped, or fails in CI.
func needEngine(t testing.TB) *client.Client {
	t.Helper()
	return weak.Engine(t)
}

// built says that there is a program to be removed.
var built bool

// program is sandbox-init, built once for all tests of this package.
var program = sync.OnceValues(func() (string, error) {
	built = true
	dir, err := os.MkdirTemp("", "torno-init-*")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "sandbox-init")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "torno/cmd/sandbox-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", &buildError{err, string(out)}
	}
	return file, nil
})

type buildError struct {
	err error
	out string
}

func (e *buildError) Error() string { return "build sandbox-init: " + e.err.Error() + "\n" + e.out }

// house is where the launchers of a test live. Each installation of a name has an id and a state directory of its own,
// and all that they have on the engine goes with the test.
type house struct {
	t      testing.TB
	dir    string
	adjust func(*docker.Options)

	mu       sync.Mutex
	launched []*docker.Launcher
}

func newHouse(t testing.TB, adjust func(*docker.Options)) *house {
	needEngine(t)
	h := &house{t: t, dir: t.TempDir(), adjust: adjust}
	t.Cleanup(h.tearDown) // before the directory is removed
	return h
}

// state is an installation's directory. Its id comes from that, so that no other test, run or user of the engine has it.
func (h *house) state(name string) (dir, id string) {
	dir = filepath.Join(h.dir, name)
	sum := sha256.Sum256([]byte(dir))
	return dir, hex.EncodeToString(sum[:8])
}

// launch is a launcher of an installation, for sandboxes with mounts beneath base.
func (h *house) launch(base, name string) *docker.Launcher {
	h.t.Helper()
	init, err := program()
	if err != nil {
		h.t.Fatal(err)
	}
	bases, err := mounts.OpenBases([]string{base})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { bases.Close() })
	dir, id := h.state(name)
	options := docker.Options{Options: local.Options{Installation: local.Installation(id), StateDir: dir, InitPath: init, Bases: bases}}
	h.adjust(&options)
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	l, err := docker.New(ctx, options)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launched = append(h.launched, l)
	return l
}

// crash ends a launcher. What it has on the engine is its successor's.
func (h *house) crash(l *docker.Launcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launched = slices.DeleteFunc(h.launched, func(other *docker.Launcher) bool { return other == l })
	l.Close()
}

// tearDown purges what the launchers have on the engine.
func (h *house) tearDown() {
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	for _, l := range h.launched {
		if err := l.Purge(ctx); err != nil {
			h.t.Errorf("purge: %v", err)
		}
		if err := l.Close(); err != nil {
			h.t.Errorf("close: %v", err)
		}
	}
}
