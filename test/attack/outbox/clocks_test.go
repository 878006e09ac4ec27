package outbox

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// clocks are times that cannot be. The machine's own clock is not turned here: what a run's time is counted with is tried
// where the clock can be, in the tests of the watcher.
var clocks = []attempt{
	atTime("in the year 2400", 13_600_000_000), atTime("in 1901", -2_170_000_000), atTime("at the beginning", 0),
	{
		Row: "O29", name: "nonsense from the future", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.dropAt("request_"+s.id+".json", []byte("nonsense"), 4_000_000_000) },
		naive: func(s *scene) bool { // waits until it is old enough
			return time.Since(time.Unix(4_000_000_000, 0)) < 250*time.Millisecond
		},
	},
	{
		Row: "O29", name: "a sentinel from the past",
		say: func(*scene) says { return says{"task": untilTold} },
		judge: func(s *scene) {
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			s.dropAt("cancel_"+s.id, nil, 1_000_000)
			s.Eventually("it is taken away", func() bool { return !s.Exists("cancel_" + s.id) })
			s.tell()
			if got := s.ran(); got != "ready\ntold\n" {
				s.Errorf("it says %q", got)
			}
		},
		naive: func(s *scene) bool { // asks whether there is one
			path := filepath.Join(s.space, "cancel")
			s.Must(os.WriteFile(path, nil, 0o644))
			s.Must(unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: 1_000_000}, {Sec: 1_000_000}}, 0))
			_, err := os.Stat(path)
			return err == nil
		},
	},
}

// atTime is a request that was written at another time. It runs once, and is answered once.
func atTime(name string, seconds int64) attempt {
	return attempt{
		Row: "O29", name: "a request written " + name,
		plant: func(s *scene) { s.dropAt("request_"+s.id+".json", s.body(counting), seconds) },
		judge: func(s *scene) {
			s.ran()
			first, err := os.Stat(s.Path("response_" + s.id + ".json"))
			s.Must(err)
			s.Touch("request_none-" + s.id + ".json") // an entry behind it, in a later listing
			s.Eventually("that is answered", func() bool { return s.Exists("response_none-" + s.id + ".json") })
			second, err := os.Stat(s.Path("response_" + s.id + ".json"))
			if s.Must(err); !os.SameFile(first, second) {
				s.Error("it is answered again and again")
			}
			if got := s.Read(filepath.Join(s.workspace(), "count")); got != "once\n" {
				s.Errorf("it ran: %q", got)
			}
		},
		naive: func(s *scene) bool { // takes what is newer than the last look, and no older than an hour
			age := time.Since(time.Unix(seconds, 0))
			return age < 0 || age > time.Hour
		},
	}
}

// dropAt is drop with a time of its own.
func (s *scene) dropAt(name string, data []byte, seconds int64) {
	s.Helper()
	aside := filepath.Join(s.space, "aside")
	s.Must(os.WriteFile(aside, data, 0o644))
	s.Must(unix.UtimesNanoAt(unix.AT_FDCWD, aside, []unix.Timespec{{Sec: seconds}, {Sec: seconds}}, 0))
	s.Must(os.Rename(aside, s.Path(name)))
}
