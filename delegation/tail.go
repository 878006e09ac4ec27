package delegation

import (
	"strings"
	"unicode/utf8"
)

// tailRunes is how much of each stream a response carries: characters, as MassGen counts them.
const tailRunes = 2000

// TailBytes is how much of the end of a stream has to be kept for Tail.
const TailBytes = tailRunes * utf8.UTFMax

// Tail is the end of a stream as a response carries it: its last characters, with what is not UTF-8 replaced. What comes
// before the last TailBytes does not count.
func Tail(stream []byte) string {
	stream = stream[max(0, len(stream)-TailBytes):]
	runes := []rune(strings.ToValidUTF8(string(stream), "\uFFFD"))
	return string(runes[max(0, len(runes)-tailRunes):])
}

// WholeSuffix is added to an answer's name for the file beside it that holds all of a standard output which is longer than
// the answer may be.
const WholeSuffix = ".whole"
