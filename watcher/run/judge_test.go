package run

import (
	"context"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/output"
)

// TestAnEndThatNobodySawProvesNothing: 255 is also what a launcher says that does not know.
func TestAnEndThatNobodySawProvesNothing(t *testing.T) {
	for _, c := range []struct {
		code   int
		unseen bool
		want   delegation.Reason
	}{
		{255, false, delegation.ReasonExited},
		{255, true, delegation.ReasonLost},
		{3, true, delegation.ReasonExited},
		{0, true, delegation.ReasonExited},
		{143, true, delegation.ReasonSignalled},
	} {
		r := &runner{Run: &Run{}, out: &output.Child{Started: true}}
		r.ending, r.stop = context.WithCancelCause(t.Context())
		if v := r.judge(sandbox.Exit{Code: c.code}, c.unseen).verdict; v.reason != c.want {
			t.Errorf("%+v: %s", c, v.reason)
		}
	}
}
