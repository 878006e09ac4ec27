package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox/compile"
)

// TestProgramsThatRequestsReach: a watcher does not start with programs in which a parent can write, whatever name leads there.
func TestProgramsThatRequestsReach(t *testing.T) {
	s := newShop(t)
	inside := filepath.Join(s.config.Outboxes[0].Allow[0], "tools")
	s.must(os.MkdirAll(inside, 0o755))
	s.config.Profiles[0].Programs = []compile.Programs{{Host: s.alias(inside, "alias"), As: "/opt/tools"}}
	if err := s.starts(); err == nil || !strings.Contains(err.Error(), "the programs "+filepath.Join(s.dir, "alias")) ||
		!strings.Contains(err.Error(), "a place that requests reach") {
		t.Errorf("it starts, or says %v", err)
	}
	apart := filepath.Join(s.dir, "apart")
	s.must(os.MkdirAll(apart, 0o755))
	s.config.Profiles[0].Programs[0].Host = apart
	if err := s.starts(); err != nil && strings.Contains(err.Error(), "programs") {
		t.Errorf("apart from requests: %v", err)
	}
}
