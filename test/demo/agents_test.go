package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/agents"
	"torno/test/attack"
)

// needAgents skips loudly where npm cannot be reached, and fails in CI. Other tests use the same engine meanwhile.
func needAgents(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves real agents out")
	}
	if _, err := agents.Fetched(t.Context()); err != nil {
		skip(t, err)
	}
	t.Setenv("TORNO_ENGINE", "given")
	t.Setenv("PATH", filepath.Join(attack.Root(), "bin")+":"+os.Getenv("PATH"))
}

// skip fails in CI.
func skip(t *testing.T, why ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("in CI nothing that matters is skipped:", why)
	}
	t.Skip("NOT SHOWN HERE:", why)
}

// needGVisor has the demo find gVisor and no engine.
func needGVisor(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(attack.Root(), "bin", "runsc")); err != nil {
		skip(t, "there is no bin/runsc; `make build` makes it")
	}
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
}

// TestRealAgentsDelegate, as `make demo-agents` shows it, with what either launcher has for them.
func TestRealAgentsDelegate(t *testing.T) {
	for name, need := range map[string]func(*testing.T){
		"gvisor": needGVisor,
		"docker": func(t *testing.T) {
			if _, err := dialEngine(t.Context()); err != nil {
				skip(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			needAgents(t)
			need(t)
			var out strings.Builder
			if err := demoAgents(t.Context(), newPage(&out)); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			for _, want := range []string{
				shut, "delegate cody (codex) clara (claude)", `cody completed`, `clara completed; the end of its answer: "42"`, "files written: 1", lastWord, "Nothing.", "All as it should be",
			} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not show %q:\n%s", want, &out)
				}
			}
		})
	}
}

// TestAnInterruptionLeavesNothing of real agents: ^C comes when both children have been asked for.
func TestAnInterruptionLeavesNothing(t *testing.T) {
	needAgents(t)
	needGVisor(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out strings.Builder
	err := demoAgents(ctx, newPage(io.MultiWriter(&out, at{claudeName + " has been asked for", interrupt})))
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(out.String(), "Nothing.") || strings.Contains(out.String(), lastWord) {
		t.Errorf("it showed\n%s", &out)
	}
}

// at is a writer that does something when it reads a text.
type at struct {
	text string
	do   func()
}

func (a at) Write(data []byte) (int, error) {
	if strings.Contains(string(data), a.text) {
		a.do()
	}
	return len(data), nil
}
