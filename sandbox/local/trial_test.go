package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// scripted is a launcher, and its sandbox, which says what it is told to on standard error.
type scripted struct {
	started, attested error

	output  chan sandbox.Chunk
	code    int
	removed func(context.Context, sandbox.Handle) error
}

func (s scripted) Remove(ctx context.Context, h sandbox.Handle) error { return s.removed(ctx, h) }

func saying(text string, code int) scripted {
	s := scripted{output: make(chan sandbox.Chunk, 3), code: code}
	text, holds := strings.CutPrefix(text, runfile.Holding)
	if holds { // it says no more before it is released
		s.output <- sandbox.Chunk{Stream: sandbox.Stderr, Bytes: []byte(runfile.Holding)}
	}
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

func (s scripted) Attest(context.Context, sandbox.Handle) (sandbox.Attestation, error) {
	return sandbox.Attestation{}, s.attested
}

func (s scripted) Holds() bool { return true }

func (s scripted) Release(context.Context) error { return nil }

func (s scripted) Wait(context.Context) (sandbox.Exit, error) { return sandbox.Exit{Code: s.code}, nil }

func (s scripted) Input() io.WriteCloser                        { return noInput{} }
func (s scripted) Signal(context.Context, sandbox.Signal) error { return nil }
func (s scripted) Close() error                                 { return nil }

// noInput is an agent's input that is not wanted.
type noInput struct{ io.Writer }

func (noInput) Close() error { return nil }

func TestTrialTakesInitsWordOnly(t *testing.T) {
	started := runfile.Holding + string(runfile.StartedLine(time.Unix(1, 0)))
	different := saying(started, 0)
	different.attested = &sandbox.DifferenceError{}
	for what, test := range map[string]struct {
		l    scripted
		good bool
	}{
		"a good one":             {saying(started+"more", 0), true},
		"an agent that fails":    {saying(started, 1), false},
		"one that differs":       {different, false},
		"one that does not hold": {saying(string(runfile.StartedLine(time.Unix(1, 0))), 0), false},
		"an init that refuses":   {saying(runfile.Holding+string(runfile.FailedLine(runfile.FailureMount, "x")), runfile.FailedExit), false},
		"another program's word": {saying("all is well\n", 0), false},
		"one that says nothing":  {saying("", 0), false},
	} {
		if _, err := runAgent(t.Context(), test.l, sandbox.Handle{}); (err == nil) != test.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTrialLeavesNothing: what was made is removed, after every result and after a cancel, and nothing else is removed.
func TestTrialLeavesNothing(t *testing.T) {
	started := runfile.Holding + string(runfile.StartedLine(time.Unix(1, 0)))
	inTheMiddle := errors.New("in the middle")
	for what, test := range map[string]struct {
		l    scripted
		made error
		want error
	}{
		"a good one":            {l: saying(started, 0)},
		"one that is too late":  {l: scripted{}, want: context.Canceled},
		"one that was not made": {made: inTheMiddle, want: inTheMiddle},
		"one that stays":        {l: saying(started, 0), want: fs.ErrPermission},
	} {
		ctx, end := context.WithCancel(t.Context())
		made, removed := 0, 0
		test.l.removed = func(ctx context.Context, h sandbox.Handle) error {
			removed++
			if h.ID != "made" || ctx.Err() != nil {
				t.Errorf("%s: %q is removed (%v)", what, h.ID, ctx.Err())
			}
			if errors.Is(test.want, fs.ErrPermission) {
				return test.want
			}
			return nil
		}
		trial := Trial{ID: TrialName, Dir: filepath.Join(t.TempDir(), TrialName), Owner: uint32(os.Geteuid())}
		_, err := trial.Run(ctx, test.l, func(_ context.Context, o Order) (sandbox.Handle, error) {
			pins, err := Pin(o.Bases, o.Spec.Mounts, o.Spec.Owners)
			if err != nil || o.ID != TrialName {
				t.Errorf("%s: %q is made, and its workspace is not below the bases: %v", what, o.ID, err)
			}
			pins.Close()
			if test.made == nil {
				made++
			}
			if errors.Is(test.want, context.Canceled) {
				end()
			}
			return sandbox.Handle{ID: "made"}, test.made
		})
		end()
		if !errors.Is(err, test.want) || made != removed {
			t.Errorf("%s: %v; %d were made and %d removed", what, err, made, removed)
		}
	}
}

// TestTrialThatDoesNotStart says why, and a trial that never ends is given up.
func TestTrialThatDoesNotStart(t *testing.T) {
	cause := errors.New("no")
	if _, err := runAgent(t.Context(), scripted{started: cause}, sandbox.Handle{}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := runAgent(ended, scripted{}, sandbox.Handle{}); !errors.Is(err, context.Canceled) {
		t.Errorf("one that never ends: %v", err)
	}
}

// TestATrialSaysWhatCannotBeLookedAt: an operator reads of what the host cannot look at and of what it needs, and no name of the trial's
// own sandbox, which is gone by then. The trial goes on.
func TestATrialSaysWhatCannotBeLookedAt(t *testing.T) {
	l := saying(runfile.Holding+string(runfile.StartedLine(time.Unix(1, 0))), 0)
	l.attested = fmt.Errorf("attest sandbox 0123456789abcdef: %w", &attest.CannotLookError{What: "a thing is closed", Needs: "it needs a right", Err: fs.ErrPermission})
	l.removed = func(context.Context, sandbox.Handle) error { return nil }
	trial := Trial{Dir: filepath.Join(t.TempDir(), TrialName), Owner: uint32(os.Geteuid())}
	found, err := trial.Run(t.Context(), l, func(context.Context, Order) (sandbox.Handle, error) {
		return sandbox.Handle{}, nil
	})
	if want := "the host cannot look into the sandbox: a thing is closed; it needs a right"; found.Unattested != want || err != nil {
		t.Errorf("it says %q, %v", found.Unattested, err)
	}
	if !errors.Is(l.attested, attest.ErrCannotLook) || !errors.Is(l.attested, fs.ErrPermission) {
		t.Error("what it is cannot be told")
	}
}

// TestATrialOfSockets: a sandbox counts as kept from sockets where its agent says so, and the host saw no connection.
func TestATrialOfSockets(t *testing.T) {
	started := runfile.Holding + string(runfile.StartedLine(time.Unix(1, 0)))
	for what, test := range map[string]struct {
		code            int
		connects, wants bool
	}{
		"refused": {0, false, true}, "an old kernel": {runfile.CannotShut, false, false}, "a word that is not true": {0, true, false},
	} {
		l := saying(started, test.code)
		l.removed = func(context.Context, sandbox.Handle) error { return nil }
		trial := Trial{Dir: filepath.Join(t.TempDir(), TrialName), Owner: uint32(os.Geteuid()), Sockets: true}
		found, err := trial.Run(t.Context(), l, func(_ context.Context, o Order) (sandbox.Handle, error) {
			if !test.connects {
				return sandbox.Handle{}, nil
			}
			conn, err := net.Dial("unix", filepath.Join(o.Spec.Mounts[0].Source.Base, filepath.Base(o.Spec.Process.Argv[2])))
			if err == nil {
				err = conn.Close()
			}
			return sandbox.Handle{}, err
		})
		if found.Shut != test.wants || err != nil {
			t.Errorf("%s: %+v, %v", what, found, err)
		}
	}
}
