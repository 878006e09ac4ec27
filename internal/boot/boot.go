// Package boot measures the time since the machine started (CLOCK_BOOTTIME). No user can set that clock, and it goes on
// while the machine sleeps. So the deadlines of runs go by this clock. The wall clock is for people.
package boot

import "time"

// Moment is a moment in one boot of the machine. The zero Moment means that there is none.
type Moment struct {
	ID string        `json:"id"` // the id of the boot; moments of two boots cannot be compared
	Up time.Duration `json:"up"` // the time since the boot
}

// Now returns the present moment.
func Now() Moment { return Moment{ID: bootID(), Up: Up()} }

// IsZero reports whether m is the zero Moment.
func (m Moment) IsZero() bool { return m == Moment{} }

// Add returns the moment that is later by d.
func (m Moment) Add(d time.Duration) Moment { return Moment{ID: m.ID, Up: m.Up + d} }

// Since returns how long ago a moment was. It is not known for a moment of another boot.
func (m Moment) Since() (passed time.Duration, known bool) { return Now().Sub(m) }

// Sub returns how much time passed from an earlier moment to this one. It is not known between two boots.
func (m Moment) Sub(earlier Moment) (passed time.Duration, known bool) {
	if m.IsZero() || earlier.IsZero() || m.ID != earlier.ID {
		return 0, false
	}
	return m.Up - earlier.Up, true
}

// Clock tells the present moment, for deadlines.
type Clock struct {
	Now    func() Moment
	Glance time.Duration // how often alarms look at the clock, because Go's timers stand still while the machine sleeps
}

// Machine is the clock of this machine.
var Machine = Clock{Now: Now, Glance: 5 * time.Second}

// Since returns how long ago a moment was.
func (c Clock) Since(m Moment) (passed time.Duration, known bool) { return c.Now().Sub(m) }

// NewAlarm sets an alarm by this clock.
func (c Clock) NewAlarm(after time.Duration) *Alarm {
	timer := time.NewTimer(min(after, c.Glance))
	return &Alarm{C: timer.C, timer: timer, clock: c, due: c.Now().Up + after}
}

// Alarm fires when a time has passed; time in which the machine sleeps counts too. After a sleep the alarm is late by
// at most its clock's Glance. Only one goroutine may use it.
type Alarm struct {
	C     <-chan time.Time // after each receive the user has to ask Rings
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

// Rings reports whether the time has passed. Call it after each receive from C. If the time has not passed, the alarm
// goes on.
func (a *Alarm) Rings() bool {
	left := a.due - a.clock.Now().Up
	if left > 0 {
		a.timer.Reset(min(left, a.clock.Glance))
	}
	return left <= 0
}

// Stop ends the alarm.
func (a *Alarm) Stop() { a.timer.Stop() }

// Backstop is the deadline for ending a run when everything else has failed. It is over when the allowed time has
// passed, during which the machine may sleep, and then a grace during which the machine is awake. So the usual means of
// ending a run have time to do so also after a sleep.
type Backstop struct {
	alarm *Alarm
	grace time.Duration
	late  bool
}

// NewBackstop arms a backstop. If allowed is 0, it returns nil, which is never over.
func NewBackstop(allowed, grace time.Duration) *Backstop {
	if allowed <= 0 {
		return nil
	}
	return &Backstop{alarm: NewAlarm(allowed), grace: grace}
}

// C returns a channel. After each receive from it, the user has to ask Over.
func (b *Backstop) C() <-chan time.Time {
	if b == nil {
		return nil
	}
	return b.alarm.C
}

// Over reports whether the allowed time and the grace have passed. Call it after each receive from C.
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

// Stop disarms the backstop.
func (b *Backstop) Stop() {
	if b != nil {
		b.alarm.Stop()
	}
}
