package delegation

import "fmt"

// LostAttempt tells the reader of a later attempt's response what became of an earlier one.
func LostAttempt(attempt int) string {
	return fmt.Sprintf("Attempt %d was lost with its sandbox, and may have left something in the workspace.", attempt)
}

// EndedWithParent is the warning of a run that ended because its parent did. why is how that one ended, "" where that is not known.
func EndedWithParent(parent string, why Reason) string {
	if why == "" {
		return fmt.Sprintf("It was ended because its parent %q was ended.", parent)
	}
	return fmt.Sprintf("It was ended because its parent %q ended: %s.", parent, why)
}
