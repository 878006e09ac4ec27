package outbox

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// clocks are times that cannot be. The machine's own clock is not turned here: what a run's time is counted with is tried
// where the clock can be, in the tests of the watcher.
var clocks = []attempt{
	stale("O29", "in the year 2400", 13_600_000_000, "2400-12-19T09:46:40Z, lies in the future"),
	stale("O29", "in 1901", -2_170_000_000, "ago"),
	stale("O34", "long ago, and come back", 1_000_000_000, "ago"),
	{
		Row: "O29", name: "a request written in an hour",
		plant: func(s *scene) { s.dropAt("request_"+s.id+".json", s.body(counting), time.Now().Add(time.Hour).Unix()) },
		judge: func(s *scene) {
			s.ran()
			s.answeredOnce()
			if got := s.Read(filepath.Join(s.workspace(), "count")); got != "once\n" {
				s.Errorf("it ran: %q", got)
			}
		},
		naive: func(s *scene) bool { // takes what is newer than its last look for new, again and again
			info, err := os.Stat(s.request())
			s.Must(err)
			return info.ModTime().After(time.Now())
		},
	},
	{
		Row: "O29", name: "nonsense from the future", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.dropAt("request_"+s.id+".json", []byte("nonsense"), 4_000_000_000) },
		naive: func(s *scene) bool { // waits until it is old enough
			return time.Since(time.Unix(4_000_000_000, 0)) < 250*time.Millisecond
		},
	},
	{
		Row: "O35", name: "a cancel before its request's time",
		plant: func(s *scene) {
			s.dropAt("request_"+s.id+".json", s.body(says{"task": untilTold}), time.Now().Add(time.Hour).Unix())
		},
		judge: func(s *scene) {
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			s.drop("cancel_"+s.id, nil)
			s.Want(s.answer(), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
		},
		naive: func(s *scene) bool { // takes it for an earlier request's
			info, err := os.Stat(s.request())
			s.Must(err)
			return time.Now().Before(info.ModTime())
		},
	},
	{
		Row: "O29", name: "a sentinel from the past",
		say: func(*scene) says { return says{"task": untilTold} },
		judge: func(s *scene) {
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			s.dropAt("cancel_"+s.id, nil, 1_000_000)
			s.Want(s.answer(), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
		},
		naive: func(s *scene) bool { // compares the times that their writers give them, and takes it for an earlier request's
			path := filepath.Join(s.space, "cancel")
			s.Must(os.WriteFile(path, nil, 0o644))
			s.Must(unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: 1_000_000}, {Sec: 1_000_000}}, 0))
			sentinel, err := os.Stat(path)
			s.Must(err)
			return sentinel.ModTime().Before(time.Now())
		},
	},
}

// stale is a request that was written at another time. It is not run: what ran then may be forgotten by now.
func stale(row, name string, seconds int64, says string) attempt {
	return attempt{
		Row: row, name: "a request written " + name, code: delegation.CodeStale,
		plant: func(s *scene) { s.dropAt("request_"+s.id+".json", s.body(counting), seconds) },
		judge: func(s *scene) {
			if text := s.answer().StderrTail; !strings.Contains(text, says) {
				s.Errorf("it says %q", text)
			}
			s.answeredOnce()
		},
		naive: func(s *scene) bool { // runs it, as ours does where the time is of today
			return s.response(s.also("fresh", counting)).Reason == delegation.ReasonExited
		},
	}
}

// answeredOnce wants that a later listing does not write the response anew.
func (s *scene) answeredOnce() {
	s.Helper()
	first, err := os.Stat(s.Path("response_" + s.id + ".json"))
	s.Must(err)
	s.Touch("request_none-" + s.id + ".json") // an entry behind it
	s.Eventually("that is answered", func() bool { return s.Exists("response_none-" + s.id + ".json") })
	second, err := os.Stat(s.Path("response_" + s.id + ".json"))
	s.Must(err)
	if !os.SameFile(first, second) {
		s.Error("it is answered again and again")
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
