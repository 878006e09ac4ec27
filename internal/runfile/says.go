package runfile

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Holding is init's first line on standard error. Then it waits for the release.
const Holding = "torno-init 2 holding\n"

// HoldTime is how long init waits at most. A sandbox that was made ahead of its run holds for long; one whose watcher has died, for ever.
const HoldTime = 24 * time.Hour

// Release is the word on init's standard input for which it waits. After it the input is the agent's.
const Release = "torno 2 release\n"

// AbandonedExit is init's own exit code when its input ended before the release. Nothing of the run was read.
const AbandonedExit = 124

// How init's line after the release begins. Started is followed by unix nanoseconds, Failed by a Failure, a space and a sentence.
const (
	Started = "torno-init 1 started "
	Failed  = "torno-init 1 failed "
)

// FailedExit is init's own exit code between the release and the started line. After that line no exit code is init's own.
const FailedExit = 125

// An engine that was killed while a sandbox ended may believe, when it is back, that it ended with 0. So init never ends
// with 0: it says success otherwise, and no engine makes that up. The code that is given up for it is told as its neighbour.
const (
	succeeded = 254
	neighbour = 253
)

// ExitFor returns the exit code with which init reports the agent's.
func ExitFor(agent int) int {
	switch agent {
	case 0:
		return succeeded
	case succeeded:
		return neighbour
	}
	return agent
}

// AgentExit is the agent's exit code, read by the host from what an engine says of init's. It is not known when it is one
// with which init does not end.
func AgentExit(init int) (code int, known bool) {
	switch init {
	case 0:
		return 0, false
	case succeeded:
		return 0, true
	}
	return init, true
}

// Failure is why init did not start the agent.
type Failure string

// The failures.
const (
	FailureRunFile  Failure = "run_file" // missing, unreadable, or for another sandbox
	FailureIdentity Failure = "identity" // root, a capability or a way to get one is left, or not process 1
	FailureMount    Failure = "mount"    // a path is not what the host pinned
	FailureSetup    Failure = "setup"    // the directory could not be entered, or a limit or a pipe not be made
)

var failures = []Failure{FailureRunFile, FailureIdentity, FailureMount, FailureSetup}

// maxSentence keeps the failed line within what a pipe takes in one piece, whatever paths are in it.
const maxSentence = 2048

// StartedLine is init's line after the release when the agent is about to run.
func StartedLine(at time.Time) []byte {
	line := strconv.AppendInt([]byte(Started), at.UnixNano(), 10)
	return append(line, '\n')
}

// FailedLine is what init says instead. The sentence becomes one line, and a very long one loses its end.
func FailedLine(why Failure, sentence string) []byte {
	sentence = strings.ToValidUTF8(strings.Join(strings.Fields(sentence), " "), "\uFFFD")
	if len(sentence) > maxSentence {
		end := maxSentence
		for !utf8.RuneStart(sentence[end]) {
			end--
		}
		sentence = sentence[:end]
	}
	return []byte(Failed + string(why) + " " + sentence + "\n")
}

// NotStarted is a failed line, read by the host.
type NotStarted struct {
	Failure  Failure
	Sentence string
}

func (n *NotStarted) Error() string { return n.Sentence }

// ErrNotInit says that a line is not one of init's.
var ErrNotInit = errors.New("standard error does not begin with sandbox-init's lines")

// IsHolding says whether a line, without its newline, is init's line before its release. An older init, which did not hold,
// has no such line.
func IsHolding(line string) bool { return line == strings.TrimSuffix(Holding, "\n") }

// ParseFirstLine reads the line after the release, without its newline: when the agent was started, a *NotStarted, or
// ErrNotInit.
func ParseFirstLine(line string) (time.Time, error) {
	if rest, ok := strings.CutPrefix(line, Started); ok {
		return parseNanoseconds(rest)
	}
	rest, ok := strings.CutPrefix(line, Failed)
	if !ok {
		return time.Time{}, ErrNotInit
	}
	code, sentence, _ := strings.Cut(rest, " ")
	for _, known := range failures {
		if Failure(code) == known {
			return time.Time{}, &NotStarted{Failure: known, Sentence: sentence}
		}
	}
	return time.Time{}, ErrNotInit
}

// parseNanoseconds takes the one spelling that StartedLine writes.
func parseNanoseconds(digits string) (time.Time, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != digits {
		return time.Time{}, ErrNotInit
	}
	return time.Unix(0, n), nil
}
