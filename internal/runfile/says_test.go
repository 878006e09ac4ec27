package runfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"torno/internal/runfile"
)

func TestStartedLine(t *testing.T) {
	at := time.Unix(1_795_000_000, 123_456_789)
	line := string(runfile.StartedLine(at))
	if line != "torno-init 1 started 1795000000123456789\n" {
		t.Fatalf("%q", line)
	}
	got, err := runfile.ParseFirstLine(strings.TrimSuffix(line, "\n"))
	if err != nil || !got.Equal(at) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFailedLine(t *testing.T) {
	line := string(runfile.FailedLine(runfile.FailureMount, "the path\n/a  is\ta link\r\n"))
	if line != "torno-init 1 failed mount the path /a is a link\n" {
		t.Fatalf("%q", line)
	}
	_, err := runfile.ParseFirstLine(strings.TrimSuffix(line, "\n"))
	var failed *runfile.NotStarted
	if !errors.As(err, &failed) || failed.Failure != runfile.FailureMount || failed.Sentence != "the path /a is a link" {
		t.Errorf("%v", err)
	}
}

func TestFailedLineIsBounded(t *testing.T) {
	line := runfile.FailedLine(runfile.FailureSetup, strings.Repeat("ü\xff", 10_000))
	if len(line) > 4096 || !utf8.Valid(line) || line[len(line)-1] != '\n' {
		t.Errorf("%d bytes, valid %v", len(line), utf8.Valid(line))
	}
}

func TestNotInitsFirstLine(t *testing.T) {
	for _, line := range []string{
		"", "hello", "torno-init 1 started", "torno-init 1 started ", "torno-init 1 started 0", "torno-init 1 started -5",
		"torno-init 1 started +5", "torno-init 1 started 05", "torno-init 1 started 5 ", "torno-init 1 started 99999999999999999999",
		"torno-init 2 started 5", " torno-init 1 started 5", "torno-init 1 failed", "torno-init 1 failed  ", "torno-init 1 failed other x",
	} {
		if at, err := runfile.ParseFirstLine(line); !errors.Is(err, runfile.ErrNotInit) {
			t.Errorf("%q: %v, %v", line, at, err)
		}
	}
}

// TestExitCodes: whatever the agent's code is, init does not end with the one that an engine may make up, and all but one
// are read as they were.
func TestExitCodes(t *testing.T) {
	for agent := range 256 {
		told := runfile.ExitFor(agent)
		code, known := runfile.AgentExit(told)
		if told == 0 || !known || code != agent && agent != 254 || agent == 254 && code != 253 {
			t.Errorf("%d is told as %d and read as %d, %t", agent, told, code, known)
		}
	}
	if _, known := runfile.AgentExit(0); known {
		t.Error("what init never says is believed")
	}
}
