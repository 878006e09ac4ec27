package watcher

import (
	"testing"

	"torno/delegation"
	"torno/internal/runfile"
)

// TestInitAndTheWireNameTheWholeAlike: init writes the file and a client looks for it, and neither imports the other.
func TestInitAndTheWireNameTheWholeAlike(t *testing.T) {
	if runfile.WholeSuffix != delegation.WholeSuffix {
		t.Errorf("init writes %q, a client looks for %q", runfile.WholeSuffix, delegation.WholeSuffix)
	}
}
