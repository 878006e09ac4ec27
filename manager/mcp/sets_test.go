package mcp_test

import (
	"testing"

	"torno/manager/mcp"
	"torno/manager/mcp/stakpak"
)

// The sets of other packages play on the same stage as our own.
func TestTranscriptsOfStakpak(t *testing.T) {
	mcp.Transcripts(t, "stakpak/testdata", mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}})
}
