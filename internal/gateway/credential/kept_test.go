package credential

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestACallerGoesWhileItIsRead: a run ends although the command of its credential hangs, and what is read then is not lost.
func TestACallerGoesWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept[string](true)
		begun, asked := time.Now(), 0
		read := func(context.Context) (string, until, error) {
			asked++
			<-time.After(maxCommand)
			return "found", until{time.Now().Add(stay)}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.get(ctx, read); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("behind %s: %v", time.Since(begun), err)
		}
		if found, err := k.get(t.Context(), read); found != "found" || err != nil || asked != 1 {
			t.Errorf("%q, %v, read %d times", found, err, asked)
		}
	})
}
