// Package nearest finds the known word that an unknown word probably means, so that an error can suggest the next step.
package nearest

import "strings"

// maxWord bounds the work for words that a stranger sends.
const maxWord = 64

// Word returns the known word that is the fewest edits away from word; of equals it returns the earliest. It returns ""
// if none is near: if more than a third of the letters would have to change.
func Word(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
