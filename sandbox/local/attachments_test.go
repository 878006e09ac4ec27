package local

import (
	"context"
	"errors"
	"testing"

	"torno/sandbox"
)

// TestAnEndThatIsKnownCounts: a caller that asks late, or has no time left, hears of it all the same.
func TestAnEndThatIsKnownCounts(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := NewEnded()
	if _, err := e.Wait(over); !errors.Is(err, context.Canceled) {
		t.Errorf("before the end: %v", err)
	}
	e.Set(sandbox.Exit{Code: 7}, nil)
	if exit, err := e.Wait(over); exit.Code != 7 || err != nil || e.Err() != nil {
		t.Errorf("after it: %+v, %v", exit, err)
	}
}

// closing is an attachment that drops itself when it is closed, as launchers' do.
type closing struct {
	sandbox.Attachment
	all    *Attached
	closed int
}

func (c *closing) Close() error {
	c.closed++
	c.all.Drop(c)
	return nil
}

func TestAttachedAreClosedOnce(t *testing.T) {
	var all Attached
	gone, open := &closing{all: &all}, &closing{all: &all}
	all.Add(gone)
	all.Add(open)
	gone.Close()
	all.Close()
	all.Close()
	if gone.closed != 1 || open.closed != 1 {
		t.Errorf("closed %d and %d times", gone.closed, open.closed)
	}
}
