package calendar

import (
	"time"

	"torno/internal/boot"
)

// The bounds within which a calendar believes the clock.
const (
	Step       = time.Hour      // how far the wall clock may differ from the time that has passed: it was set a little
	LongestOff = 72 * time.Hour // how long a machine may have been off before this boot: over a weekend
	Lasts      = time.Hour      // how long a jump must last, by the boot clock
	Rest       = 24 * time.Hour // the least time between two jumps ahead that are taken, by the boot clock
)

// Sight holds the times of both clocks at one moment.
type Sight struct {
	Wall time.Time   `json:"wall"`
	At   boot.Moment `json:"at"`
}

// isZero reports whether s is no sight at all.
func (s Sight) isZero() bool { return s.At.IsZero() }

// passed returns how much time of this boot has passed since s. It is not known if s is from another boot.
func (s Sight) passed(now boot.Moment) (passed time.Duration, known bool) {
	passed, known = now.Sub(s.At)
	return passed, known && now.ID != "" && passed >= 0
}

// belief holds all knowledge about the time of day. It does no input and no output.
type belief struct {
	Known Sight       `json:"known"`          // the last wall clock that was believed
	Doubt Sight       `json:"doubt,omitzero"` // the first sight of a wall clock that has jumped and is not believed
	Ahead boot.Moment `json:"ahead,omitzero"` // when the last jump ahead was taken
}

// look returns the believed time when the clocks show this. If the kernel does not name its boot, look believes the
// wall clock, because there is nothing else.
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
	return b.Known.Wall.Add(now.Up), LongestOff // the machine has been on for now.Up at least
}

// goesOnAt reports whether the doubted wall clock has gone on since its jump without another jump.
func (b *belief) goesOnAt(seen Sight) bool {
	passed, known := b.Doubt.passed(seen.At)
	if !known || b.Doubt.isZero() {
		return false
	}
	off := seen.Wall.Sub(b.Doubt.Wall.Add(passed))
	return off >= -Step && off <= Step
}

// waits returns how long the present jump still has to last until it is taken.
func (b *belief) waits(now boot.Moment, jump time.Duration) time.Duration {
	stood, _ := b.Doubt.passed(now)
	left := Lasts - stood
	if rested, known := (Sight{At: b.Ahead}).passed(now); known && jump > 0 {
		left = max(left, Rest-rested)
	}
	return max(left, 0)
}
