// Package boot measures time since the machine started (CLOCK_BOOTTIME). No user can set that clock, and it counts on while
// the machine sleeps, so the deadlines of runs go by it. The wall clock is for people.
package boot

import "time"

// Moment is a moment in one boot of the machine. The zero Moment is none.
type Moment struct {
	ID string        `json:"id"` // the boot's own id; moments of two boots cannot be compared
	Up time.Duration `json:"up"` // since the boot
}

// Now is the present moment.
func Now() Moment { return Moment{ID: bootID(), Up: Up()} }

// IsZero says that there is no moment.
func (m Moment) IsZero() bool { return m == Moment{} }

// Add is the moment that lies so much later.
func (m Moment) Add(d time.Duration) Moment { return Moment{ID: m.ID, Up: m.Up + d} }

// Since is how long ago a moment was. It is not known of a moment of another boot.
func (m Moment) Since() (passed time.Duration, known bool) { return Now().Sub(m) }

// Sub is how much time passed from an earlier moment to this one. It is not known between two boots.
func (m Moment) Sub(earlier Moment) (passed time.Duration, known bool) {
	if m.IsZero() || earlier.IsZero() || m.ID != earlier.ID {
		return 0, false
	}
	return m.Up - earlier.Up, true
}

// Clock tells the present moment to what must end in time.
type Clock struct {
	Now    func() Moment
	Glance time.Duration // how often alarms look at it: Go's timers stand still while the machine sleeps
}

// Machine is the clock of this machine.
var Machine = Clock{Now: Now, Glance: 5 * time.Second}

// Since returns how long ago a moment was.
func (c Clock) Since(m Moment) (passed time.Duration, known bool) { return c.Now().Sub(m) }

// NewAlarm sets an alarm.
func (c Clock) NewAlarm(after time.Duration) *Alarm {
	timer := time.NewTimer(min(after, c.Glance))
	return &Alarm{C: timer.C, timer: timer, clock: c, due: c.Now().Up + after}
}

// Alarm fires when a time has passed, the time in which the machine sleeps included. After a sleep it is late by its
// clock's Glance at most. It has one user.
type Alarm struct {
	C     <-chan time.Time // a reason to ask Rings
	timer *time.Timer
	clock Clock
	due   time.Duration
}

// NewAlarm sets an alarm by the machine's clock.
func NewAlarm(after time.Duration) *Alarm { return Machine.NewAlarm(after) }

// Set sets the alarm anew.
func (a *Alarm) Set(after time.Duration) {
	a.due = a.clock.Now().Up + after
	a.timer.Reset(min(after, a.clock.Glance))
}

// Rings says, when C was received from, whether the time has passed. If not, the alarm goes on.
func (a *Alarm) Rings() bool {
	left := a.due - a.clock.Now().Up
	if left > 0 {
		a.timer.Reset(min(left, a.clock.Glance))
	}
	return left <= 0
}

// Stop ends the alarm.
func (a *Alarm) Stop() { a.timer.Stop() }

// Backstop is for what ends a run when everything else has failed: it is over when a time has passed, in which the machine may
// sleep, and after that a grace in which it is awake. So what ends runs before has its time also after a sleep.
type Backstop struct {
	alarm *Alarm
	grace time.Duration
	late  bool
}

// NewBackstop arms a backstop. Where allowed is 0 it returns nil, which is never over.
func NewBackstop(allowed, grace time.Duration) *Backstop {
	if allowed <= 0 {
		return nil
	}
	return &Backstop{alarm: NewAlarm(allowed), grace: grace}
}

// C is a reason to ask Over.
func (b *Backstop) C() <-chan time.Time {
	if b == nil {
		return nil
	}
	return b.alarm.C
}

// Over says, when C was received from, whether time and grace have passed.
func (b *Backstop) Over() bool {
	if b.late {
		return true
	}
	if b.alarm.Rings() {
		b.late = true
		b.alarm.timer.Reset(b.grace) // Go's timers stand still while the machine sleeps
	}
	return false
}

// Stop disarms it.
func (b *Backstop) Stop() {
	if b != nil {
		b.alarm.Stop()
	}
}
