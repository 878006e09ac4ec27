package delegation

import "fmt"

// LostAttempt returns the warning, in a later attempt's response, that an earlier attempt was lost.
func LostAttempt(attempt int) string {
	return fmt.Sprintf("Attempt %d was lost with its sandbox, and may have left something in the workspace.", attempt)
}

// EndedWithParent returns the warning for a run that ended because its parent ended. why is the parent's reason, or ""
// if that is not known.
func EndedWithParent(parent string, why Reason) string {
	if why == "" {
		return fmt.Sprintf("It was ended because its parent %q was ended.", parent)
	}
	return fmt.Sprintf("It was ended because its parent %q ended: %s.", parent, why)
}
