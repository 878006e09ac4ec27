package gvisor_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"torno/internal/mounts"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
	"torno/test/prober/verdict"
)

// house is a machine with installations on it, as a test has it.
type house struct {
	testing.TB
	dir   string
	tools tools
	mu    sync.Mutex
	open  map[*gvisor.Launcher]*mounts.Bases
}

// tools are the programs that a launcher needs.
type tools struct{ init, keeper, runsc string }

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{TB: t, dir: t.TempDir(), tools: build(t), open: map[*gvisor.Launcher]*mounts.Bases{}}
	t.Cleanup(h.close)
	return h
}

// build makes them, once for all tests.
func build(t testing.TB) tools {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves real sandboxes out")
	}
	if dir := os.Getenv(verdict.Programs); dir != "" {
		return tools{filepath.Join(dir, "sandbox-init"), filepath.Join(dir, "sandbox-keeper"), filepath.Join(dir, "runsc")}
	}
	dir, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	runsc, err := filepath.Abs("../../bin/runsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(runsc); err != nil {
		t.Fatalf("%v; `make build` makes it", err)
	}
	return tools{filepath.Join(dir, "sandbox-init"), filepath.Join(dir, "sandbox-keeper"), runsc}
}

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "torno-gvisor-test-")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "torno/cmd/sandbox-init", "torno/cmd/sandbox-keeper")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err = command.Output()
	return dir, err
})

// options are those of an installation, which is known by a name of the test's.
func (h *house) options(base, name string) gvisor.Options {
	sum := sha256.Sum256([]byte(h.dir + name))
	state := filepath.Join(h.dir, name)
	if err := os.MkdirAll(state, 0o700); err != nil {
		h.Fatal(err)
	}
	bases, err := mounts.OpenBases([]string{base})
	if err != nil {
		h.Fatal(err)
	}
	return gvisor.Options{
		Options: local.Options{
			Installation: local.Installation(hex.EncodeToString(sum[:8])), StateDir: state, InitPath: h.tools.init, Bases: bases,
		},
		KeeperPath: h.tools.keeper, Runsc: h.tools.runsc,
	}
}

func (h *house) launch(base, name string) *gvisor.Launcher {
	h.Helper()
	o := h.options(base, name)
	l, err := gvisor.New(h.Context(), o)
	if err != nil {
		h.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[l] = o.Bases
	return l
}

// crash ends a launcher as the end of its process does.
func (h *house) crash(l *gvisor.Launcher) {
	h.mu.Lock()
	bases := h.open[l]
	delete(h.open, l)
	h.mu.Unlock()
	l.Close()
	bases.Close()
}

func (h *house) close() {
	for l := range h.open {
		h.crash(l)
	}
}
