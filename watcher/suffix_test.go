package watcher

import (
	"testing"

	"torno/delegation"
	"torno/internal/runfile"
)

// TestInitAndTheWireNameAnAnswersFilesAlike: init names the files and a client looks for them, and neither imports the
// other.
func TestInitAndTheWireNameAnAnswersFilesAlike(t *testing.T) {
	for init, client := range map[string]string{runfile.WholeSuffix: delegation.WholeSuffix, runfile.PreviousSuffix: delegation.PreviousSuffix} {
		if init != client {
			t.Errorf("init writes %q, a client looks for %q", init, client)
		}
	}
}
