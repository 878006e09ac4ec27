package massgen

import (
	"os"

	"torno/manager/massgen/evaluation"
	"torno/manager/mcp"
)

// owed brings what a round's evaluator has written to where MassGen looks for it, and says what is missing or malformed.
func owed(workspace *os.Root) (warnings []string) {
	for _, fault := range evaluation.Bring(workspace) {
		warnings = append(warnings, mcp.Words(fault.Error()))
	}
	return warnings
}
