package outbox

import (
	"testing"

	"torno/sandbox"
	"torno/watcher/outbox/identity"
)

// TestAWaitingRunCountsItsFiles: a configuration of some kilobytes, nested deeply, is megabytes as a file.
func TestAWaitingRunCountsItsFiles(t *testing.T) {
	request, config := make([]byte, 100<<10), make([]byte, 8<<20)
	spec := sandbox.Spec{Files: []sandbox.File{{Name: "config", Content: config}}}
	if held := HeldBy(request, spec); held < int64(len(config)+len(request)) {
		t.Errorf("a run with %d bytes of files counts as %d", len(config), held)
	}
	box := &Outbox{Claim: &identity.Claim{}}
	if a := box.Admission(sandbox.RunKey{}, Intake{data: request}, spec, nil); a.Bytes != HeldBy(request, spec) {
		t.Errorf("its admission counts as %d", a.Bytes)
	}
}
