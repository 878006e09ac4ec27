package delegation

import (
	"strings"
	"unicode/utf8"
)

// tailRunes is the length of each stream's end in a response, in characters, as MassGen counts them.
const tailRunes = 2000

// TailBytes is the number of bytes from the end of a stream that a caller must keep for Tail.
const TailBytes = tailRunes * utf8.UTFMax

// Tail returns the end of a stream for a response: its last characters, with invalid UTF-8 replaced. It ignores
// everything before the last TailBytes.
func Tail(stream []byte) string {
	stream = stream[max(0, len(stream)-TailBytes):]
	runes := []rune(strings.ToValidUTF8(string(stream), "\uFFFD"))
	return string(runes[max(0, len(runes)-tailRunes):])
}

// WholeSuffix ends the name of a file that stands beside an answer. That file holds all of the standard output when the
// output is longer than the answer may be.
const WholeSuffix = ".whole"

// PreviousSuffix ends the new name of an old answer: when a run begins, init renames the answer of the run before, and
// the file beside it.
const PreviousSuffix = ".previous"
