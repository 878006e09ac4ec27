package massgen

import (
	"os"

	"torno/manager/massgen/evaluation"
	"torno/manager/mcp"
)

// owed brings the files of a round's evaluator to the place where MassGen looks for them. It warns of missing and
// malformed files.
func owed(workspace *os.Root) (warnings []string) {
	for _, fault := range evaluation.Bring(workspace) {
		warnings = append(warnings, mcp.Words(fault.Error()))
	}
	return warnings
}
