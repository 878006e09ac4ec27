package runfile

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Holding is init's first line on standard error. Then init waits for the release.
const Holding = "torno-init 2 holding\n"

// HoldTime bounds how long init waits for the release. A sandbox that was made ahead of its run holds for a long time.
// Without this bound it would hold for ever if its watcher has died.
const HoldTime = 24 * time.Hour

// Release is the word that init waits for on standard input. After it the input is the agent's.
const Release = "torno 2 release\n"

// AbandonedExit is init's own exit code if its input ended, or HoldTime passed, before the release. Init has then read
// nothing of the run.
const AbandonedExit = 124

// These begin init's line after the release. Unix nanoseconds follow Started; a Failure, a space and a sentence follow
// Failed.
const (
	Started = "torno-init 1 started "
	Failed  = "torno-init 1 failed "
)

// FailedExit is init's own exit code between the release and the started line. After that line no exit code is init's
// own.
const FailedExit = 125

// If an engine is killed while a sandbox ends, it may later believe that the sandbox ended with 0. So init never ends
// with 0: it reports success by another code, which no engine makes up. If the agent itself ends with that code, init
// reports the code beside it.
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

// AgentExit returns the agent's exit code. The host gives it init's exit code, as an engine reports it. known is false
// if init never ends with that code.
func AgentExit(init int) (code int, known bool) {
	switch init {
	case 0:
		return 0, false
	case succeeded:
		return 0, true
	}
	return init, true
}

// Failure says why init did not start the agent.
type Failure string

// The failures.
const (
	FailureRunFile  Failure = "run_file" // missing, unreadable, or for another sandbox
	FailureIdentity Failure = "identity" // root, a capability or a way to get one is left, or init is not process 1
	FailureMount    Failure = "mount"    // a path does not lead to the directory that the host pinned
	FailureSetup    Failure = "setup"    // init could not enter the directory, set a limit or make a pipe
)

var failures = []Failure{FailureRunFile, FailureIdentity, FailureMount, FailureSetup}

// maxSentence keeps the failed line so short that a pipe takes it in one piece, whatever paths are in it.
const maxSentence = 2048

// StartedLine returns init's line after the release if the agent is about to run.
func StartedLine(at time.Time) []byte {
	line := strconv.AppendInt([]byte(Started), at.UnixNano(), 10)
	return append(line, '\n')
}

// FailedLine returns the line that init writes instead of it. FailedLine turns the sentence into one line, and cuts off
// the end of a very long one.
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

// NotStarted is a failed line as the host has read it.
type NotStarted struct {
	Failure  Failure
	Sentence string
}

func (n *NotStarted) Error() string { return n.Sentence }

// ErrNotInit says that a line is not one of init's lines.
var ErrNotInit = errors.New("standard error does not begin with sandbox-init's lines")

// IsHolding reports whether a line, without its newline, is Holding. An older init, which did not hold, writes no such
// line.
func IsHolding(line string) bool { return line == strings.TrimSuffix(Holding, "\n") }

// ParseFirstLine reads the line after the release, without its newline. It returns the time when the agent was started,
// or a *NotStarted, or ErrNotInit.
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

// parseNanoseconds accepts only the spelling that StartedLine writes.
func parseNanoseconds(digits string) (time.Time, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != digits {
		return time.Time{}, ErrNotInit
	}
	return time.Unix(0, n), nil
}
