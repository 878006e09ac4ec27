package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/attack"
)

// needSidecar skips loudly where there is no engine or no root, and fails in CI. Other tests use the same engine meanwhile.
func needSidecar(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves the sidecar out")
	}
	if _, err := dialEngine(t.Context()); err != nil {
		skip(t, err)
	}
	if os.Geteuid() != 0 {
		skip(t, "the sidecar's watcher is root")
	}
	if _, err := os.Stat(filepath.Join(attack.Root(), "bin", "runsc")); err != nil {
		skip(t, "there is no bin/runsc; `make build` makes it")
	}
	t.Setenv("TORNO_ENGINE", "given")
	t.Setenv("PATH", filepath.Join(attack.Root(), "bin")+":"+os.Getenv("PATH"))
	t.Chdir(attack.Root())
}

const sidecarTitle = "the sidecar's"

// TestTheSidecarHasItsChildren, as `make demo-sidecar` shows it: an image without a registry, three names of one directory, and nothing is left.
func TestTheSidecarHasItsChildren(t *testing.T) {
	needSidecar(t)
	var out strings.Builder
	if err := demo(t.Context(), newPage(&out), sidecarTitle, performSidecar); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"engine's socket not there", "found 983 primes", "timed out", "Context path not in readable roots: /etc",
		"the watcher     /srv/torno/outbox/workspaces/counter-1\n", "the agent       /outbox/workspaces/counter-1\n", "Nothing.", "All as it should be",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, &out)
		}
	}
}

// TestAnInterruptedSidecarLeavesNothing: ^C comes while a child works.
func TestAnInterruptedSidecarLeavesNothing(t *testing.T) {
	needSidecar(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out strings.Builder
	err := demo(ctx, newPage(io.MultiWriter(&out, at{"counter-3", interrupt})), sidecarTitle, performSidecar)
	if err == nil || !strings.Contains(out.String(), "Nothing.") {
		t.Errorf("it ended with %v and showed\n%s", err, &out)
	}
}

func TestTheComposeFileIsWhatTheDemoKnows(t *testing.T) {
	file, err := readCompose(filepath.Join(attack.Root(), composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if file.Services["watcher"].NetworkMode != "none" || file.Services["agent"].CapDrop == nil {
		t.Errorf("%+v", file)
	}
	for name, text := range map[string]string{
		"field privileged not found": "services: {watcher: {privileged: true}}",
		"cannot read the volume":     "services: {watcher: {volumes: [\"/a:/b:rw\"]}}",
	} {
		path := filepath.Join(t.TempDir(), "compose.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readCompose(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bare := service{Volumes: []volume{{Type: "bind", Source: "/home", Target: "/home", ReadOnly: true}}}
	if _, err := bare.container("image", nil); err == nil || !strings.Contains(err.Error(), "nothing in the place of /home") {
		t.Errorf("a directory of the machine's gets in: %v", err)
	}
}
