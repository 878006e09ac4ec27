package run

import (
	"context"
	"testing"

	"torno/delegation"
	"torno/internal/boot"
	"torno/sandbox"
	"torno/watcher/output"
)

// TestACauseThatCameLater: the sandbox had ended by itself before this watcher looked.
func TestACauseThatCameLater(t *testing.T) {
	for reason, want := range map[delegation.Reason]delegation.Reason{
		delegation.ReasonShutdown: delegation.ReasonExited, delegation.ReasonParentEnded: delegation.ReasonExited, delegation.ReasonClientGone: delegation.ReasonClientGone,
	} {
		for over, want := range map[bool]delegation.Reason{true: want, false: reason} {
			r := &runner{Run: &Run{}, endedBefore: over, out: &output.Child{Started: true}}
			r.ending, r.stop = context.WithCancelCause(t.Context())
			r.stop(endCause(reason))
			if v := r.judge(sandbox.Exit{}, true).verdict; v.reason != want {
				t.Errorf("%s, over %v: %s", reason, over, v.reason)
			}
		}
	}
}

// TestAnEndThatNobodySawProvesNothing: 255 is also what a launcher says that does not know. One that knows the time of the end knows
// its code.
func TestAnEndThatNobodySawProvesNothing(t *testing.T) {
	for _, c := range []struct {
		code   int
		unseen bool
		when   boot.Moment
		want   delegation.Reason
	}{
		{255, false, boot.Moment{}, delegation.ReasonExited},
		{255, true, boot.Moment{}, delegation.ReasonLost},
		{255, true, boot.Now(), delegation.ReasonExited},
		{3, true, boot.Moment{}, delegation.ReasonExited},
		{0, true, boot.Moment{}, delegation.ReasonExited},
		{143, true, boot.Moment{}, delegation.ReasonSignalled},
	} {
		r := &runner{Run: &Run{}, out: &output.Child{Started: true}}
		r.ending, r.stop = context.WithCancelCause(t.Context())
		if v := r.judge(sandbox.Exit{Code: c.code, FinishedIn: c.when}, c.unseen).verdict; v.reason != c.want {
			t.Errorf("%+v: %s", c, v.reason)
		}
	}
}
