package stage

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// scripted is a launcher, and its sandbox, which says what it is told to on standard error.
type scripted struct {
	started error
	output  chan sandbox.Chunk
	code    int
}

func saying(text string, code int) scripted {
	s := scripted{output: make(chan sandbox.Chunk, 2), code: code}
	s.output <- sandbox.Chunk{Stream: sandbox.Stdout, Bytes: []byte("noise\n")}
	s.output <- sandbox.Chunk{Stream: sandbox.Stderr, Bytes: []byte(text)}
	close(s.output)
	return s
}

func (s scripted) Start(context.Context, sandbox.Handle) error { return s.started }

func (s scripted) Open(context.Context, sandbox.Handle, sandbox.Cursor) (sandbox.Attachment, error) {
	return s, nil
}

func (s scripted) Output() <-chan sandbox.Chunk { return s.output }

func (s scripted) Wait(context.Context) (sandbox.Exit, error) { return sandbox.Exit{Code: s.code}, nil }

func (s scripted) Input() io.WriteCloser                        { return nil }
func (s scripted) Signal(context.Context, sandbox.Signal) error { return nil }
func (s scripted) Close() error                                 { return nil }

func TestTrialTakesInitsWordOnly(t *testing.T) {
	started := string(runfile.StartedLine(time.Unix(1, 0)))
	for what, test := range map[string]struct {
		l    scripted
		good bool
	}{
		"a good one":             {saying(started+"more", 0), true},
		"an agent that fails":    {saying(started, 1), false},
		"an init that refuses":   {saying(string(runfile.FailedLine(runfile.FailureMount, "x")), runfile.FailedExit), false},
		"another program's word": {saying("all is well\n", 0), false},
		"one that says nothing":  {saying("", 0), false},
	} {
		if err := RunTrial(t.Context(), test.l, sandbox.Handle{}); (err == nil) != test.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTrialThatDoesNotStart is told apart: a launcher may try again in another way.
func TestTrialThatDoesNotStart(t *testing.T) {
	cause := errors.New("no")
	var notStarted *StartError
	if err := RunTrial(t.Context(), scripted{started: cause}, sandbox.Handle{}); !errors.As(err, &notStarted) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if err := RunTrial(t.Context(), saying("", 0), sandbox.Handle{}); errors.As(err, &notStarted) {
		t.Errorf("one that has started: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := RunTrial(ended, scripted{}, sandbox.Handle{}); !errors.Is(err, context.Canceled) {
		t.Errorf("one that never ends: %v", err)
	}
}
