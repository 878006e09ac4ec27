package patch

import (
	"os"
	"slices"
)

// Own are directories of Torno's: outboxes, and the directories where clients keep records of copies. A child's work is
// never written there, wherever they lie.
type Own []os.FileInfo

// OwnOf returns the outbox and the state directory, if they exist.
func OwnOf(state, outbox string) (own Own) {
	for _, dir := range []string{state, outbox} {
		if info, err := os.Stat(dir); dir != "" && err == nil {
			own = append(own, info)
		}
	}
	return own
}

func (o Own) has(info os.FileInfo) bool {
	return slices.ContainsFunc(o, func(own os.FileInfo) bool { return os.SameFile(own, info) })
}

// Place is a directory that Get writes to.
type Place struct {
	Root *os.Root
	Own  Own // directories in it that are not written to
}
