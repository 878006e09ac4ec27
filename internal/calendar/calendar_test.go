package calendar

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/internal/boot"
)

const (
	minute = time.Minute
	day    = 24 * time.Hour
	year   = 365 * day
)

// desk is a machine whose clocks a test moves.
type desk struct {
	*testing.T
	dir      string
	clocks   Sight
	right    time.Time // the real time
	said     bytes.Buffer
	calendar *Calendar
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, dir: t.TempDir(), right: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	d.clocks = Sight{Wall: d.right, At: boot.Moment{ID: "first", Up: 5 * time.Hour}}
	d.restart()
	return d
}

// restart has another process go on.
func (d *desk) restart() {
	d.calendar = OpenBy(func() Sight { return d.clocks }, d.dir, slog.New(slog.NewTextHandler(&d.said, nil)))
}

// reboot has the machine start again after a time; its clock goes on.
func (d *desk) reboot(id string, off time.Duration) {
	d.right, d.clocks.Wall = d.right.Add(off), d.clocks.Wall.Add(off)
	d.clocks.At = boot.Moment{ID: id, Up: 0}
	d.restart()
	d.pass(minute)
}

// pass lets time go on, with a look at the calendar each ten minutes.
func (d *desk) pass(all time.Duration) {
	for all > 0 {
		step := min(all, 10*minute)
		d.right, d.clocks.Wall, d.clocks.At = d.right.Add(step), d.clocks.Wall.Add(step), d.clocks.At.Add(step)
		d.calendar.Now()
		all -= step
	}
}

// jump sets the wall clock.
func (d *desk) jump(by time.Duration) { d.clocks.Wall = d.clocks.Wall.Add(by) }

// isOff says how far the believed time is from the real one, and holds it against what is wanted.
func (d *desk) isOff(want time.Duration) {
	d.Helper()
	if off := d.calendar.Now().Sub(d.right); off != want {
		d.Errorf("the believed time is off by %s, and should be by %s", off, want)
	}
	if doubted := d.calendar.Doubt() != nil; doubted != (!d.clocks.Wall.Equal(d.right.Add(want))) {
		d.Errorf("a doubt is shown: %t", doubted)
	}
}

// says counts the lines of the log with a text.
func (d *desk) says(text string, want int) {
	d.Helper()
	if n := strings.Count(d.said.String(), text); n != want {
		d.Errorf("the log says %q %d times, and should %d times: %s", text, n, want, &d.said)
	}
}

// TestAJumpHasToLast, whichever way, and is said once. While it is doubted another process goes on with the doubt.
func TestAJumpHasToLast(t *testing.T) {
	for _, by := range []time.Duration{year, -year, 2 * time.Hour, -2 * time.Hour} {
		d := newDesk(t)
		d.pass(3 * day)
		d.isOff(0)
		d.jump(by)
		d.isOff(0)
		d.pass(Lasts - 10*minute)
		d.restart()
		d.isOff(0)
		d.says("the clock has jumped", 1)
		d.says("believed now", 0)
		d.pass(10 * minute)
		d.isOff(by)
		d.says("believed now", 1)
	}
}

// TestAJumpThatIsTakenBack leaves nothing, and begins to last anew the next time.
func TestAJumpThatIsTakenBack(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	for range 5 {
		d.jump(year)
		d.pass(Lasts - 10*minute)
		d.isOff(0)
		d.jump(-year)
		d.pass(10 * minute)
		d.isOff(0)
	}
	d.says("the clock has jumped", 5)
	d.says("the clock is right again", 5)
}

// TestAJumpThatJumpsOn begins to last anew.
func TestAJumpThatJumpsOn(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	for range 5 {
		d.jump(year)
		d.pass(Lasts - 10*minute)
		d.isOff(0)
	}
}

// TestJumpsToAndFro: of those ahead one is taken each day.
func TestJumpsToAndFro(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	taken := 0
	for range 3 * 24 / 4 { // three days, four hours each
		d.jump(10 * day)
		d.pass(2 * time.Hour)
		if d.calendar.Doubt() == nil {
			taken++
		}
		d.jump(-10 * day)
		d.pass(2 * time.Hour)
		d.isOff(0)
	}
	if taken != 3 {
		t.Errorf("%d jumps ahead were taken", taken)
	}
	d.jump(10 * day)
	d.pass(2 * time.Hour)
	d.isOff(10 * day)
}

// TestAClockThatIsSetALittle is believed, and so is one that is slow or fast.
func TestAClockThatIsSetALittle(t *testing.T) {
	d := newDesk(t)
	off := time.Duration(0)
	for _, by := range []time.Duration{time.Second, -minute, Step / 2, -Step} {
		d.jump(by)
		off += by
		d.isOff(off)
		d.pass(day)
	}
	d.says("the clock", 0)
}

// TestAMachineThatWasOff begins where its clock is, after a night, or a weekend. After longer its clock has to last.
func TestAMachineThatWasOff(t *testing.T) {
	d := newDesk(t)
	d.pass(day)
	d.reboot("second", 14*time.Hour)
	d.isOff(0)
	d.pass(8 * time.Hour)
	d.reboot("third", LongestOff-2*time.Hour)
	d.isOff(0)
	d.reboot("fourth", year)
	if off := d.calendar.Now().Sub(d.right); off > -year+day {
		t.Errorf("a year later the believed time is off by %s at once", off)
	}
	d.pass(Lasts)
	d.isOff(0)
}

// TestAMachineWithoutABattery starts in 1970 each time, and NTP sets its clock a few minutes later.
func TestAMachineWithoutABattery(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	for _, id := range []string{"a", "b", "c"} {
		d.clocks.Wall = time.Unix(0, 0).UTC()
		d.reboot(id, 10*minute)
		if now := d.calendar.Now(); now.Before(d.right.Add(-time.Hour)) {
			t.Errorf("1970 is believed: %s", now)
		}
		d.clocks.Wall = d.right
		d.isOff(0)
		d.pass(10 * minute)
	}
}

// TestAJumpThatAnotherBootConfirms: what the clock shows after a restart may be so, because the machine was off.
func TestAJumpThatAnotherBootConfirms(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	d.jump(2 * day) // the machine was halted as a whole, its boot clock too
	d.isOff(0)
	d.reboot("second", minute)
	d.isOff(2 * day)
	d.jump(year)
	d.reboot("third", 0)
	d.isOff(2 * day)
}

// TestAFileThatCannotBeRead counts as none, and one that cannot be written is said once.
func TestAFileThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.dir, FileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.restart()
	d.jump(year)
	d.isOff(year)
	d.says("cannot be read", 1)
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	d.pass(2 * day)
	d.says("cannot be written", 1)
	d.jump(-year)
	d.isOff(year)
}

// TestADoubtThatCouldNotBeWritten is written when there is room again, so a restart does not begin its hour anew.
func TestADoubtThatCouldNotBeWritten(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	full := d.dir + ".full"
	if err := os.Rename(d.dir, full); err != nil {
		t.Fatal(err)
	}
	d.jump(year)
	d.isOff(0)
	if err := os.Rename(full, d.dir); err != nil {
		t.Fatal(err)
	}
	d.pass(2 * minute)
	d.restart()
	if doubt := d.calendar.Doubt(); doubt == nil || doubt.Left > Lasts-minute {
		t.Errorf("a restart knows of the doubt %+v", doubt)
	}
}

// TestTheFileIsWrittenSeldom: a calendar is asked for each request.
func TestTheFileIsWrittenSeldom(t *testing.T) {
	d := newDesk(t)
	d.isOff(0)
	written := 0
	for range 24 * 60 {
		before := d.calendar.saved
		d.pass(minute)
		if d.calendar.saved != before {
			written++
		}
	}
	if written != 24 {
		t.Errorf("the file was written %d times a day", written)
	}
}
