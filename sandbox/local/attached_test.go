package local

import (
	"testing"

	"torno/sandbox"
)

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
