package notice

import (
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
)

// TestANoticeIsToldToTheClientsItConcerns, and to no others.
func TestANoticeIsToldToTheClientsItConcerns(t *testing.T) {
	n := New(slog.New(slog.DiscardHandler))
	told := 0
	n.Changed = func() { told++ }
	one, two, other, all := n.Flag("one"), n.Flag("one"), n.Flag("two"), n.Flag("")
	one.Raise(delegation.NoticeOutbox, errors.New("x"))
	two.Raise(delegation.NoticeOutbox, errors.New("y"))
	two.Raise(delegation.NoticeOutbox, syscall.ENOSPC) // it is the disk after all
	other.Raise(delegation.NoticeOutbox, syscall.EMFILE)
	all.Raise(delegation.NoticeLauncher, errors.New("away"))
	codes := func(outbox string) (codes []delegation.NoticeCode) {
		for _, notice := range n.Of(outbox) {
			codes = append(codes, notice.Code)
			if notice.Since.IsZero() || notice.Text == "" {
				t.Errorf("half a notice: %+v", notice)
			}
		}
		return codes
	}
	if got := codes("one"); !slices.Equal(got, []delegation.NoticeCode{delegation.NoticeLauncher, delegation.NoticeDisk, delegation.NoticeOutbox}) {
		t.Errorf("one is told %v", got)
	}
	if got := codes("two"); !slices.Equal(got, []delegation.NoticeCode{delegation.NoticeLauncher, delegation.NoticeDescriptors}) {
		t.Errorf("two is told %v", got)
	}
	for _, h := range []*Flag{one, two, other, all} {
		h.Lower()
		h.Lower()
	}
	if len(n.held) != 0 || told != 8 {
		t.Errorf("%v are left, and somebody was told %d times", n.held, told)
	}
}

// TestTroubleThatIsNotMetAgainIsTakenBack, and not before.
func TestTroubleThatIsNotMetAgainIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(slog.New(slog.DiscardHandler))
		disk := n.Recurring("one")
		for range 3 {
			disk.Raise(delegation.NoticeDisk, errors.New("full"))
			time.Sleep(Lingers)
			disk.LowerIfOld()
			if len(n.Of("one")) != 1 || len(n.Of("two")) != 0 {
				t.Errorf("they are told %v and %v", n.Of("one"), n.Of("two"))
			}
		}
		time.Sleep(time.Millisecond)
		disk.LowerIfOld()
		if len(n.Of("one")) != 0 {
			t.Errorf("it is told %v still", n.Of("one"))
		}
	})
}
