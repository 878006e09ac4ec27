package calendar

import (
	"time"

	"torno/internal/boot"
)

// The bounds within which a calendar believes the clock.
const (
	Step       = time.Hour      // by which a clock that was set a little may differ from the time that has passed
	LongestOff = 72 * time.Hour // a machine that is started again may have been off: over a weekend
	Lasts      = time.Hour      // of the boot clock, for which a jump has to last
	Rest       = 24 * time.Hour // of the boot clock, between two jumps ahead that are taken
)

// Sight is what both clocks showed at one moment.
type Sight struct {
	Wall time.Time   `json:"wall"`
	At   boot.Moment `json:"at"`
}

// isZero says that nothing was seen.
func (s Sight) isZero() bool { return s.At.IsZero() }

// passed returns how much time of this boot has passed since s. It is not known for another boot.
func (s Sight) passed(now boot.Moment) (passed time.Duration, known bool) {
	passed, known = now.Sub(s.At)
	return passed, known && now.ID != "" && passed >= 0
}

// belief is what is known of the time of day. It does no input and no output.
type belief struct {
	Known Sight       `json:"known"`          // the last time that was believed
	Doubt Sight       `json:"doubt,omitzero"` // when a clock that has jumped, and is not believed, was first seen
	Ahead boot.Moment `json:"ahead,omitzero"` // when the last jump ahead was taken
}

// look returns the time that is believed when the clocks show this. Where the kernel does not name its boot, the wall clock is all there is.
func (b *belief) look(seen Sight) time.Time {
	least, slack := b.passedUntil(seen.At)
	jump := seen.Wall.Sub(least)
	if b.Known.isZero() || seen.At.ID == "" || jump >= -Step && jump <= slack {
		return b.believe(seen)
	}
	if !b.goesOnAt(seen) {
		b.Doubt = seen
	}
	if b.waits(seen.At, jump) > 0 {
		return least
	}
	if jump > 0 {
		b.Ahead = seen.At
	}
	return b.believe(seen)
}

func (b *belief) believe(seen Sight) time.Time {
	b.Known, b.Doubt = seen, Sight{}
	return seen.Wall
}

// passedUntil returns the least time that it can be now, and how much later it may be.
func (b *belief) passedUntil(now boot.Moment) (least time.Time, slack time.Duration) {
	if passed, known := b.Known.passed(now); known {
		return b.Known.Wall.Add(passed), Step
	}
	return b.Known.Wall.Add(now.Up), LongestOff // the machine has been on since its start
}

// goesOnAt says whether the clock that is doubted has gone on as time did, without another jump.
func (b *belief) goesOnAt(seen Sight) bool {
	passed, known := b.Doubt.passed(seen.At)
	if !known || b.Doubt.isZero() {
		return false
	}
	off := seen.Wall.Sub(b.Doubt.Wall.Add(passed))
	return off >= -Step && off <= Step
}

// waits is how long a jump that goes on still has to last.
func (b *belief) waits(now boot.Moment, jump time.Duration) time.Duration {
	stood, _ := b.Doubt.passed(now)
	left := Lasts - stood
	if rested, known := (Sight{At: b.Ahead}).passed(now); known && jump > 0 {
		left = max(left, Rest-rested)
	}
	return max(left, 0)
}
