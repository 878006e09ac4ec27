package approval

import "time"

// Meter counts what is approved without a question, and the questions. It belongs to one run. Times are since its start, by a clock
// that nobody sets.
type Meter struct {
	calls, shell, writes bucket
	approved             int
	asked                bucket
}

// bucket holds as much as a minute allows, and is filled evenly.
type bucket struct {
	used float64
	at   time.Duration
}

// take takes one, unless a minute's worth is used up.
func (b *bucket) take(perMinute int, now time.Duration) bool {
	b.used = max(0, b.used-float64(perMinute)*(now-b.at).Minutes())
	b.at = max(b.at, now)
	if b.used+1 > float64(perMinute) {
		return false
	}
	b.used++
	return true
}

// asksPerMinute bounds questions of all kinds, which are written down before they are answered.
const asksPerMinute = 300

// MayAsk counts a question, and says whether there were not too many. What is over is denied without a record.
func (m *Meter) MayAsk(now time.Duration) bool { return m.asked.take(asksPerMinute, now) }

// May counts a call that the policy approves by itself. Why it may not is "" where it may.
func (m *Meter) May(p *Policy, c Call, now time.Duration) (why string) {
	switch {
	case m.approved >= p.Rates.Calls:
		return "the run has used up the calls that are approved without a question"
	case isShell(c.Tool) && !m.shell.take(p.Rates.ShellPerMinute, now):
		return "there were too many commands in a minute"
	case writes(c.Tool) && !m.writes.take(p.Rates.WritesPerMinute, now):
		return "there were too many writes in a minute"
	case !m.calls.take(p.Rates.CallsPerMinute, now):
		return "there were too many calls in a minute"
	}
	m.approved++
	return ""
}

// Count counts what an earlier watcher approved.
func (m *Meter) Count(approved int) { m.approved += approved }
