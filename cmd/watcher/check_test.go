package main

import (
	"errors"
	"strings"
	"testing"

	"torno/internal/doctor"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// TestCheckFailsWhereRunWouldNotStart: a limit that is not enforced and not accepted, with a next step for a configuration and for --dir.
func TestCheckFailsWhereRunWouldNotStart(t *testing.T) {
	all := sandbox.Guarantees{}
	for _, key := range sandbox.GuaranteeKeys {
		all[key] = sandbox.Guarantee{Enforced: key != sandbox.MemoryLimit && key != sandbox.PidsLimit}
	}
	c := &checked{profiles: []compile.Profile{{Name: "sh", Sandbox: "gvisor"}}, guarantees: map[string]sandbox.Guarantees{"gvisor": all, "unused": {}}}
	refused, ok := errors.AsType[*doctor.RefusedError](c.refused())
	if !ok || !strings.Contains(refused.Next(), "accept: [memory, pids] in the configuration, and with --dir --accept memory --accept pids") {
		t.Errorf("check says %v", refused)
	}
	c.config.Accept = []sandbox.GuaranteeKey{sandbox.MemoryLimit, sandbox.PidsLimit}
	if err := c.refused(); err != nil {
		t.Errorf("what is accepted is refused: %v", err)
	}
}
