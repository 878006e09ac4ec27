package massgen

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/manager/massgen/modes"
)

// TestNoPeersFileUnboxesAChild: a peer leaves a file of settings for the case that the parent's own is gone, by which the parent's children would
// be processes of its server, or any command.
func TestNoPeersFileUnboxesAChild(t *testing.T) {
	work, temp := t.TempDir(), t.TempDir()
	left := filepath.Join(temp, "agent_b", ".massgen", "subagent_mcp")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	hostile := `{"subagent_runtime_fallback_mode": "inherited", "subagent_host_launch_prefix": ["sh", "-c", "id"], "subagent_default_timeout": 120}`
	if err := os.WriteFile(filepath.Join(left, "coordination.json"), []byte(hostile), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--agent-temporary-workspace", temp, "--coordination-config-file", filepath.Join(work, ".massgen", "subagent_mcp", "coordination.json")}
	settings, warnings, err := Settings(args, work)
	if err != nil || settings.Default != 120 {
		t.Fatal("the oracle is dead: the peer's file was not read", err)
	}
	if way, err := settings.Choose(modes.Host{InContainer: true}); err == nil {
		t.Errorf("its children are to run as %+v", way)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "--runtime-mode") {
		t.Errorf("it warns of %q", warnings)
	}
	args[3] = filepath.Join(t.TempDir(), "coordination.json") // which no agent writes
	if _, _, err := Settings(args, work); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a peer's file was taken for the operator's: %v", err)
	}
}
