package create

import (
	"fmt"
	"strings"

	"torno/delegation"
	"torno/sandbox"
)

// limitWords are how an engine's warning shows which limit it is about. One about swap speaks of memory too, so the
// first that fits counts.
var limitWords = []struct {
	word string
	key  sandbox.GuaranteeKey
}{
	{"swap", sandbox.SwapLimit}, {"pids", sandbox.PidsLimit}, {"cpu", sandbox.CPULimit}, {"memory", sandbox.MemoryLimit},
}

// warnedOf is the limit that a warning is about, or "".
func warnedOf(warning string) sandbox.GuaranteeKey {
	lower := strings.ToLower(warning)
	for _, limit := range limitWords {
		if strings.Contains(lower, limit.word) {
			return limit.key
		}
	}
	return ""
}

// readWarnings refuses a container that got less than was asked for (I3). Warnings are text and nothing else; one that
// speaks of a limit is taken for its loss, unless the loss is known and the profile did not mind.
func (m *making) readWarnings(warnings []string) error {
	for _, warning := range warnings {
		if key := warnedOf(warning); m.Enforced[key] {
			return &delegation.Refusal{
				Code: delegation.CodeNotEnforced, Field: "profile",
				Text: fmt.Sprintf("The engine does not enforce the limit for %s: %s", key, warning),
				Hint: "this is for the operator to mend",
			}
		}
		m.Log.Info("the engine warned about a sandbox", "sandbox", m.ID, "warning", warning)
	}
	return nil
}
