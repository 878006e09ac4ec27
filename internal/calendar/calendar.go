package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"torno/internal/atomicfile"
	"torno/internal/boot"
)

// FileName is the name of a calendar's file in the directory given to Open.
const FileName = "calendar"

// Clocks show the present moment.
type Clocks func() Sight

// Machine shows the present moment by the clocks of this machine.
func Machine() Sight { return Sight{Wall: time.Now().Round(0).UTC(), At: boot.Now()} } // Round makes differences count by the wall clock

// saveEvery is how old the believed time in the file may become.
const saveEvery = time.Hour

// Calendar tells the believed time. Several goroutines may call its methods at the same time.
type Calendar struct {
	clocks Clocks
	file   string
	log    *slog.Logger

	mu     sync.Mutex
	belief belief
	saved  belief
	failed Sight // when the last attempt to write the file failed; zero if it did not fail
}

// Open goes on with the calendar of a directory, by the clocks of this machine.
func Open(dir string, log *slog.Logger) *Calendar { return OpenBy(Machine, dir, log) }

// OpenBy goes on with the calendar of a directory. If the file cannot be read, OpenBy logs that and begins without it.
func OpenBy(clocks Clocks, dir string, log *slog.Logger) *Calendar {
	c := &Calendar{clocks: clocks, file: filepath.Join(dir, FileName), log: log}
	raw, err := os.ReadFile(c.file)
	if err == nil {
		err = json.Unmarshal(raw, &c.belief)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.belief = belief{}
		log.Warn("the calendar cannot be read, so the clock is believed as it is", "file", c.file, "error", err)
	}
	c.saved = c.belief
	return c
}

// Now returns the believed time.
func (c *Calendar) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, before := c.clocks(), c.belief
	now := c.belief.look(seen)
	c.say(before, seen, now)
	if c.isWorthSaving(seen) {
		c.save(seen)
	}
	return now
}

// lookEvery is how often a Loop looks at the clocks.
const lookEvery = time.Minute

// Loop looks at the clocks until ctx is done. Without it the calendar would notice a jump only when somebody asks for
// the time, and the jump would begin to last only then.
func (c *Calendar) Loop(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		c.Now()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Doubt is a clock that is not believed.
type Doubt struct {
	Clock    time.Time     `json:"clock"`    // the time that the wall clock shows
	Believed time.Time     `json:"believed"` // the time that counts meanwhile
	Left     time.Duration `json:"left"`     // how long the wall clock has to stay there until it is believed, in nanoseconds
}

// Doubt returns the present doubt about the wall clock, or nil while the wall clock is believed.
func (c *Calendar) Doubt() *Doubt {
	believed := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.belief.Doubt.isZero() {
		return nil
	}
	seen := c.clocks()
	return &Doubt{Clock: seen.Wall, Believed: believed, Left: c.belief.waits(seen.At, seen.Wall.Sub(believed))}
}

// say logs when a doubt has begun or ended.
func (c *Calendar) say(before belief, seen Sight, now time.Time) {
	had, has := before.Doubt, c.belief.Doubt
	switch {
	case !has.isZero() && has != had:
		c.log.Warn("the clock has jumped; until it stays there long enough, days and ages are counted by the time since the boot",
			"clock", seen.Wall, "believed", now.UTC(), "taken_in", c.belief.waits(seen.At, seen.Wall.Sub(now)))
	case has.isZero() && !had.isZero():
		least, slack := before.passedUntil(seen.At)
		if jump := seen.Wall.Sub(least); jump > slack || jump < -Step {
			c.log.Warn("the clock has stayed where it jumped to, and is believed now", "clock", seen.Wall, "instead_of", least.UTC())
			return
		}
		c.log.Info("the clock is right again", "clock", seen.Wall)
	}
}

// isWorthSaving reports whether the belief in the file is out of date.
func (c *Calendar) isWorthSaving(seen Sight) bool {
	if c.saved.Doubt != c.belief.Doubt || c.saved.Ahead != c.belief.Ahead {
		return true
	}
	if c.belief.Known == c.saved.Known {
		return false
	}
	passed, known := c.saved.Known.passed(seen.At)
	drift := c.belief.Known.Wall.Sub(c.saved.Known.Wall) - passed
	return !known || passed >= saveEvery || drift.Abs() > Step/10
}

// save writes the file. If that fails, the calendar goes on in memory, says so once, and tries again after a lookEvery.
func (c *Calendar) save(seen Sight) {
	if passed, known := c.failed.passed(seen.At); known && passed < lookEvery {
		return
	}
	err := c.write()
	if err == nil {
		c.saved, c.failed = c.belief, Sight{}
		return
	}
	if c.failed.isZero() {
		c.log.Warn("the calendar cannot be written, so after a restart the clock is believed as it is then", "error", err)
	}
	c.failed = seen
}

func (c *Calendar) write() error {
	raw, err := json.Marshal(c.belief)
	if err != nil {
		return fmt.Errorf("write the calendar: %w", err)
	}
	if err := atomicfile.Write(c.file, raw, 0o600, atomicfile.Durable); err != nil {
		return fmt.Errorf("write the calendar: %w", err)
	}
	return nil
}
