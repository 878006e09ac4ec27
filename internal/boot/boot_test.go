package boot

import (
	"testing"
	"time"
)

// patience bounds every wait of these tests; none of them needs it.
const patience = time.Minute

func TestMomentsOfOneBootCompare(t *testing.T) {
	first := Now()
	if first.IsZero() || first.ID == "" || first.Up <= 0 {
		t.Fatalf("now is %+v", first)
	}
	if passed, known := first.Add(-time.Hour).Since(); !known || passed < time.Hour || passed > time.Hour+time.Minute {
		t.Errorf("an hour ago was %s ago, known %v", passed, known)
	}
	if passed, known := first.Add(time.Hour).Sub(first); !known || passed != time.Hour {
		t.Errorf("an hour later is %s later, known %v", passed, known)
	}
}

func TestMomentsOfTwoBootsDoNot(t *testing.T) {
	for name, m := range map[string]Moment{"another boot": {ID: "other", Up: 1}, "none": {}} {
		if passed, known := m.Since(); known {
			t.Errorf("%s was %s ago", name, passed)
		}
	}
}

func TestAlarm(t *testing.T) {
	alarm := NewAlarm(time.Hour)
	defer alarm.Stop()
	if alarm.Rings() {
		t.Fatal("an alarm rings an hour early")
	}
	alarm.Set(time.Millisecond)
	for {
		select {
		case <-alarm.C:
			if !alarm.Rings() {
				continue
			}
		case <-time.After(patience):
			t.Fatal("an alarm does not ring")
		}
		return
	}
}

// TestAnAlarmCountsSleep: a timer of Go's is far from its end when the machine wakes up, and the alarm rings at its next look.
func TestAnAlarmCountsSleep(t *testing.T) {
	alarm := NewAlarm(time.Hour)
	defer alarm.Stop()
	alarm.due -= 2 * time.Hour // the machine has slept for two hours
	select {
	case <-alarm.C:
	case <-time.After(patience): // a glance is what it takes; without it there is nothing to hear for an hour
		t.Fatal("nobody looks at the clock after a sleep")
	}
	if !alarm.Rings() {
		t.Error("an alarm does not count a sleep")
	}
}

func TestABackstopGivesItsGrace(t *testing.T) {
	const grace = 100 * time.Millisecond
	b := NewBackstop(time.Hour, grace)
	defer b.Stop()
	b.alarm.due = Up() - 24*time.Hour // the machine has slept for a day
	b.alarm.timer.Reset(0)
	begin := time.Now()
	for {
		<-b.C()
		if b.Over() {
			break
		}
	}
	if took := time.Since(begin); took < grace {
		t.Errorf("the grace after a sleep was %s", took)
	}
}

func TestNoBackstop(t *testing.T) {
	b := NewBackstop(0, time.Second)
	defer b.Stop()
	select {
	case <-b.C():
		t.Error("what is not armed fires")
	default:
	}
}
