package approval

import "time"

// Meter counts questions, and calls that are approved without a question. It belongs to one run. Its times count from
// the start of the run, by a clock that nobody sets.
type Meter struct {
	calls, shell, writes bucket
	approved             int
	asked                bucket
}

// bucket holds as many uses as a minute allows. Time gives used ones back evenly.
type bucket struct {
	used float64
	at   time.Duration
}

// take takes one use and returns true. If a minute's worth is used up, it returns false.
func (b *bucket) take(perMinute int, now time.Duration) bool {
	b.used = max(0, b.used-float64(perMinute)*(now-b.at).Minutes())
	b.at = max(b.at, now)
	if b.used+1 > float64(perMinute) {
		return false
	}
	b.used++
	return true
}

// asksPerMinute bounds questions of all kinds, because each question is written down before it is answered.
const asksPerMinute = 300

// MayAsk counts a question, and reports whether the run may still ask it. If not, it is denied without a record.
func (m *Meter) MayAsk(now time.Duration) bool { return m.asked.take(asksPerMinute, now) }

// May counts a call that the policy approves by itself. It returns "" if the policy may approve it, and otherwise the
// reason why not.
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

// Count adds the calls that an earlier watcher approved.
func (m *Meter) Count(approved int) { m.approved += approved }
