package watcher

import (
	"context"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// TestASandboxThatDiffersNeverRuns: the host sees in its hold that it is not what was asked for.
func TestASandboxThatDiffersNeverRuns(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Fail(sandboxtest.OpAttest, 1, &sandbox.DifferenceError{Differences: []sandbox.Difference{
		{What: "/workspace", Want: "device 1 inode 2", Got: "device 1 inode 3"},
	}})
	resp := d.response(d.submit(ask{id: "s1", task: "echo never"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeAttestation || !strings.Contains(resp.StderrTail, "/workspace is device 1 inode 3") {
		t.Errorf("it says %+v, %q", resp.Error, resp.StderrTail)
	}
	if ran := d.world.Released(); len(ran) != 0 || resp.Attested != nil {
		t.Errorf("%v ran, and attested is %v", ran, resp.Attested)
	}
	d.empty()
}

// TestTheAttestationStaysWithTheRun: in the journal whole, in the response in a word, and with a watcher of later.
func TestTheAttestationStaysWithTheRun(t *testing.T) {
	for _, enforced := range []bool{true, false} {
		d := newDesk(t, nil)
		d.world.Enforce(sandbox.Attested, enforced, "there is nothing to look through")
		tell := d.untilTold()
		a := d.submit(ask{id: "s1", task: "until-told"})
		d.started(a)
		d.crash()
		d.open()
		tell()
		resp := d.response(a)
		d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if resp.Attested == nil || *resp.Attested != enforced {
			t.Errorf("the response says %v, want %t", resp.Attested, enforced)
		}
		seen := d.latest("s1").Attestation
		if seen == nil || seen.Attested != enforced || enforced != (len(seen.Seen) > 0) || enforced == (seen.Why != "") {
			t.Errorf("the journal has %+v", seen)
		}
	}
}

// TestACancelInTheHold: nothing ran, and the sandbox is gone before it is said.
func TestACancelInTheHold(t *testing.T) {
	d := newDesk(t, nil)
	reached, release := make(chan struct{}), make(chan struct{})
	d.world.Before(sandboxtest.OpAttest, func() { close(reached); <-release })
	a := d.submit(ask{id: "s1", task: "echo never"})
	<-reached
	d.touch("cancel_s1")
	d.eventually("the cancel is heard", func() bool { r := d.watcher.runs.Running(d.latest("s1").Key); return r != nil && r.Cause() != "" })
	close(release)
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if left, err := d.fake.List(t0()); err != nil || len(left) != 0 || len(d.world.Released()) != 0 {
		t.Errorf("it was answered with %v left and %v released: %v", left, d.world.Released(), err)
	}
}

// TestASandboxThatVanishesInItsHold is made anew, for the same attempt.
func TestASandboxThatVanishesInItsHold(t *testing.T) {
	d := newDesk(t, nil)
	gone := false
	d.world.Before(sandboxtest.OpAttest, func() {
		if gone {
			return
		}
		gone = true
		left, err := d.fake.List(t0())
		d.must(err)
		d.world.Vanish(left[0])
	})
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "hello\n" || resp.Attempt != 1 || len(d.world.Sandboxes()) != 2 {
		t.Errorf("%q in attempt %d, with %d sandboxes", resp.StdoutTail, resp.Attempt, len(d.world.Sandboxes()))
	}
	d.onceEach()
	d.empty()
}

// beaten is a launcher whose first attachment some other reader gets, so that the watcher's cannot give the word.
type beaten struct {
	sandbox.Launcher
	times int // that this happens
	first []sandbox.Attachment
}

func (l *beaten) Open(ctx context.Context, h sandbox.Handle, c sandbox.Cursor) (sandbox.Attachment, error) {
	if l.times--; l.times < 0 {
		return l.Launcher.Open(ctx, h, c)
	}
	first, err := l.Launcher.Open(ctx, h, c)
	if err != nil {
		return nil, err
	}
	l.first = append(l.first, first)
	return l.Launcher.Open(ctx, h, c)
}

// TestAnAttachmentWithoutTheWord is seen before the journal notes a release: the sandbox is made anew for the same attempt, and
// the run is not lost.
func TestAnAttachmentWithoutTheWord(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	strange := &beaten{times: 1}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher {
		strange.Launcher = l
		return strange
	}
	d.open()
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "hello\n" || resp.Attempt != 1 || len(d.world.Sandboxes()) != 2 {
		t.Errorf("%q in attempt %d, with %d sandboxes", resp.StdoutTail, resp.Attempt, len(d.world.Sandboxes()))
	}
	d.onceEach()
	d.empty()
	for _, a := range strange.first {
		d.must(a.Close())
	}
}

// TestASandboxThatNeverHoldsIsGivenUp.
func TestASandboxThatNeverHoldsIsGivenUp(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Before(sandboxtest.OpAttest, func() {
		left, err := d.fake.List(t0())
		d.must(err)
		d.world.Vanish(left[0])
	})
	resp := d.response(d.submit(ask{id: "s1", task: "echo never"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if !strings.Contains(resp.StderrTail, "before it was released") || len(d.world.Released()) != 0 {
		t.Errorf("it says %q", resp.StderrTail)
	}
}
