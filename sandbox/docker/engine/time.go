package engine

import "time"

// Time parses a time as the engine writes it. It returns the zero time if there is none.
func Time(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
