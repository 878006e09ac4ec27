package box

import (
	"testing"
	"time"

	"torno/internal/boot"
)

// TestWhenItFinished: an end is as old as its mark says by the machine's clock, on both clocks.
func TestWhenItFinished(t *testing.T) {
	now, moment := time.Now(), boot.Moment{ID: "this", Up: time.Hour}
	for up, late := range map[time.Duration]time.Duration{
		0:                0, // the mark of an older init
		59 * time.Minute: time.Minute,
		time.Hour:        0,
		2 * time.Hour:    0,
	} {
		wall, at := finished(up, now, moment)
		if !wall.Equal(now.Add(-late)) || at != moment.Add(-late) {
			t.Errorf("marked at %s: %s ago, and at %+v; want %s ago", up, now.Sub(wall), at, late)
		}
	}
}
