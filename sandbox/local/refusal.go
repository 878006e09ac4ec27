package local

import (
	"fmt"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
)

// refuse returns the refusal of a mount. It names the path as the parent named it.
func refuse(m sandbox.Mount, why, hint string) *delegation.Refusal {
	if m.Workspace {
		return &delegation.Refusal{
			Code: delegation.CodeWorkspace, Field: "workspace", Text: fmt.Sprintf("Workspace %q %s", m.Target, why), Hint: hint,
		}
	}
	return &delegation.Refusal{
		Code: delegation.CodeContext, Field: "context_paths", Text: fmt.Sprintf("Context path %q %s", m.Target, why), Hint: hint,
	}
}

func hintFor(wrong *mounts.PathError) string {
	switch wrong.Kind {
	case mounts.KindWithheld:
		return wrong.Err.Error()
	case mounts.KindMissing:
		return "create it before the request is written"
	case mounts.KindLink:
		return "name the real path; a file must have one name only"
	case mounts.KindNotDir, mounts.KindSpecial:
		return "name a directory, or for context a regular file"
	case mounts.KindMountpoint:
		return "have the operator list the mount as a root of its own"
	case mounts.KindDenied:
		return "have the operator give the watcher access to it"
	default:
		return "name a path under a root that this outbox allows"
	}
}
