package create

import (
	"fmt"
	"strings"

	"torno/delegation"
	"torno/sandbox"
)

// limitWords maps words in an engine's warning to the limit that it is about. The first match counts, because a warning
// about swap speaks of memory, too.
var limitWords = []struct {
	word string
	key  sandbox.GuaranteeKey
}{
	{"swap", sandbox.SwapLimit}, {"pids", sandbox.PidsLimit}, {"cpu", sandbox.CPULimit}, {"memory", sandbox.MemoryLimit},
}

// warnedOf returns the limit that a warning is about, or "".
func warnedOf(warning string) sandbox.GuaranteeKey {
	lower := strings.ToLower(warning)
	for _, limit := range limitWords {
		if strings.Contains(lower, limit.word) {
			return limit.key
		}
	}
	return ""
}

// readWarnings refuses a container that got less than was asked for (I3). Warnings are only text. If a warning names a
// limit, readWarnings assumes that the limit is lost. It lets a warning pass if the launcher already knew that the
// limit is missing, because then the profile did not demand it.
func (m *making) readWarnings(warnings []string) error {
	for _, warning := range warnings {
		if key := warnedOf(warning); m.Enforced[key] {
			return &delegation.Refusal{
				Code: delegation.CodeNotEnforced, Field: "profile",
				Text: fmt.Sprintf("The engine does not enforce the limit for %s: %s", key, warning),
				Hint: "ask the operator to correct this",
			}
		}
		m.Log.Info("the engine warned about a sandbox", "sandbox", m.ID, "warning", warning)
	}
	return nil
}
