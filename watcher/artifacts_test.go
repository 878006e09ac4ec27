package watcher

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
)

// TestAnAnswerTellsOfArtifacts: of those that the run has made, also under another watcher.
func TestAnAnswerTellsOfArtifacts(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Artifacts = []string{"out*", "went"} })
	workspace := filepath.Join(d.outbox, "workspaces", "s1")
	d.must(os.MkdirAll(workspace, 0o755))
	d.must(os.WriteFile(filepath.Join(workspace, "out-of-before"), nil, 0o644))
	before := time.Now()
	d.eventually("the file is older than a tick of the file system", func() bool { return time.Since(before) > 100*time.Millisecond })
	d.world.Register("make", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		_ = p.WriteFile("out.json", []byte("{}"))
		_ = p.WriteFile("other.json", []byte("{}"))
		_ = p.WriteFile("began", nil)
		for p.Sleep(ctx, time.Millisecond) == nil {
			if _, err := p.ReadFile("go"); err == nil {
				return 0
			}
		}
		return 1
	})
	a := d.submit(ask{id: "s1", task: "make"})
	d.eventually("the run has begun", func() bool { _, err := os.Stat(filepath.Join(workspace, "began")); return err == nil })
	d.crash()
	d.open()
	d.must(os.WriteFile(filepath.Join(workspace, "go"), nil, 0o644))
	resp := d.response(a)
	want := []delegation.Artifact{{
		Path: "out.json", Size: 2, SHA256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", Type: "application/json",
	}}
	if !slices.Equal(resp.Artifacts, want) {
		t.Errorf("the answer tells of %+v; %q", resp.Artifacts, resp.Warnings)
	}
}
