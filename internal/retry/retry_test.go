package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Pause(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("a pause of an hour took %s: %v", time.Since(begun), err)
		}
		why := context.DeadlineExceeded
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		if err := Pause(ctx, time.Hour); !errors.Is(err, why) || time.Since(begun) != time.Minute {
			t.Errorf("a pause that is cut short took %s: %v", time.Since(begun), err)
		}
		if err := Pause(ctx, 0); !errors.Is(err, why) {
			t.Errorf("a pause after the end: %v", err)
		}
	})
}
