package delegation

import "fmt"

// LostAttempt tells the reader of a later attempt's response what became of an earlier one.
func LostAttempt(attempt int) string {
	return fmt.Sprintf("Attempt %d was lost with its sandbox, and may have left something in the workspace.", attempt)
}
