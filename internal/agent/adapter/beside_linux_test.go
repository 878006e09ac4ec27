package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/agent"
)

// follower follows the files of a directory of its own.
type follower struct {
	testing.TB

	beside
	dir  string
	told []agent.Line
	now  time.Time
}

const firstAttempt = massgenLogs + "/log_2/turn_1/attempt_1"

// follow begins in a directory that prepare has made something of.
func follow(t testing.TB, prepare func(f *follower)) *follower {
	t.Helper()
	f := &follower{TB: t, dir: t.TempDir(), now: time.Now()}
	if prepare != nil {
		prepare(f)
	}
	t.Chdir(f.dir)
	f.m = &massgen{}
	tell := func(lines []agent.Line) {
		for _, l := range lines {
			if _, err := agent.Encode(l); err != nil {
				t.Errorf("%+v: %v", l, err)
			}
		}
		f.told = append(f.told, lines...)
	}
	if err := f.begin(tell, func(agent.Input, error) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.root.Close() })
	return f
}

// put appends to a file.
func (f *follower) put(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	if err == nil {
		_, err = file.WriteString(text)
		file.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
}

func (f *follower) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// step lets so much time pass that all is looked at.
func (f *follower) step() {
	f.now = f.now.Add(scanEvery)
	f.look(f.now)
}

func (f *follower) texts() string {
	var all []string
	for _, l := range f.told {
		if l.Kind == agent.Text || l.Kind == agent.Notice {
			all = append(all, l.Text)
		}
	}
	return strings.Join(all, "|")
}

func text(say string) string {
	return fmt.Sprintf(`{"event_type":"text","data":{"content":%q}}`, say) + "\n"
}

// TestEventsAreFollowed: of this run's attempts, one after the other, each line once, however it comes. What was there before is not told.
func TestEventsAreFollowed(t *testing.T) {
	f := follow(t, func(f *follower) {
		f.put(massgenLogs+"/log_1/turn_1/attempt_1/events.jsonl", text("of before"))
		f.put(massgenLogs+"/log_9/events.jsonl", text("of before"))
	})
	f.step()
	f.put(firstAttempt+"/other", "")
	f.step()
	f.put(firstAttempt+"/events.jsonl", text("one")+text("two")[:20])
	f.step()
	f.put(firstAttempt+"/events.jsonl", text("two")[20:])
	f.step()
	f.put(firstAttempt+"/events.jsonl", text("three"))
	f.put(massgenLogs+"/log_2/turn_1/attempt_2/events.jsonl", text("four"))
	f.put(massgenLogs+"/log_2/turn_1/attempt_10/events.jsonl", text("five"))
	f.put(massgenLogs+"/log_2/turn_01/attempt_1/events.jsonl", text("no attempt"))
	f.step()
	f.step()
	f.step()
	f.put(massgenLogs+"/log_2/turn_1/attempt_10/events.jsonl", strings.TrimSuffix(text("six"), "\n"))
	f.put(massgenLogs+"/log_3/events.jsonl", text("seven"))
	f.put(massgenLogs+"/log_4/turn_2/attempt_1/events.jsonl", text("eight"))
	f.end()
	if got := f.texts(); got != "one|two|three|four|five|six|seven|eight" {
		t.Errorf("told is %q", got)
	}
}

// TestFilesThatAreTraps: nothing that lies in the place of a log is followed out of it, waited for, or told without an end.
func TestFilesThatAreTraps(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(f *follower, events, status string)
		told string
	}{
		{"a link", func(f *follower, events, status string) {
			f.put("secret", text("secret"))
			f.must(os.Symlink(filepath.Join(f.dir, "secret"), events))
			f.must(os.Symlink("../../../../../secret", status))
		}, "its events cannot be read: " + firstAttempt + "/events.jsonl: events.jsonl is a symbolic link"},
		{"another name", func(f *follower, events, status string) {
			f.put("secret", text("secret"))
			f.must(os.Link(filepath.Join(f.dir, "secret"), events))
			f.must(os.Link(filepath.Join(f.dir, "secret"), status))
		}, "its status cannot be read: "},
		{"a pipe", func(f *follower, events, status string) {
			f.must(syscall.Mkfifo(events, 0o600))
			f.must(syscall.Mkfifo(status, 0o600))
		}, "its events cannot be read: "},
		{"a directory", func(f *follower, events, status string) {
			f.must(os.Mkdir(events, 0o700))
			f.must(os.Mkdir(status, 0o700))
		}, "its events cannot be read: "},
		{"a device", func(f *follower, events, status string) {
			f.must(os.Symlink("/dev/zero", events))
			f.must(os.Symlink("/dev/zero", status))
		}, "its events cannot be read: "},
		{"a long status", func(f *follower, _, status string) {
			f.put(firstAttempt+"/status.json", "{")
			f.must(os.Truncate(status, 1<<40))
		}, "its status is not read: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := follow(t, nil)
			f.put(firstAttempt+"/other", "")
			test.set(f, filepath.Join(f.dir, firstAttempt, "events.jsonl"), filepath.Join(f.dir, firstAttempt, "status.json"))
			for range 3 {
				f.step()
			}
			f.end()
			got := f.texts()
			if !strings.Contains(got, test.told) || strings.Contains(got, "secret|") || strings.Count(got, test.told) != 1 {
				t.Errorf("told is %q", got)
			}
		})
	}
}

// TestEventsThatShrink: what is behind the cut is told, and none is told again.
func TestEventsThatShrink(t *testing.T) {
	f := follow(t, nil)
	f.put(firstAttempt+"/events.jsonl", text("one")+text("two")[:10])
	f.step()
	f.must(os.Truncate(filepath.Join(f.dir, firstAttempt, "events.jsonl"), 0))
	f.step()
	f.put(firstAttempt+"/events.jsonl", text("three"))
	f.step()
	f.end()
	if got := f.texts(); got != "one|its file of events became shorter; only events after that are reported|three" {
		t.Errorf("told is %q", got)
	}
}

// TestTheEndHasABound: a process that is left behind and writes on does not keep the adapter.
func TestTheEndHasABound(t *testing.T) {
	f := follow(t, nil)
	f.put(firstAttempt+"/events.jsonl", text("one"))
	f.step()
	n := 2
	told := f.tell
	f.tell = func(lines []agent.Line) { // each line that is told has another written, and another attempt begun
		told(lines)
		n++
		f.put(fmt.Sprintf("%s/log_2/turn_1/attempt_%d/events.jsonl", massgenLogs, n), text("more"))
		f.put(firstAttempt+"/events.jsonl", text("more"))
	}
	f.put(massgenLogs+"/log_2/turn_1/attempt_2/events.jsonl", text("two"))
	f.end()
	if n < mostAttempts || n > 2*mostAttempts+10 {
		t.Errorf("%d lines were told", n)
	}
}

// FuzzFollow changes the files between two looks. What the follower tells is in order, and no more than was written.
func FuzzFollow(f *testing.F) {
	f.Add([]byte("aab\ncatxed"))
	f.Add([]byte("anananzzttttaxs\n"))
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 60 {
			return
		}
		w := follow(t, nil)
		written, attempt := 0, 1
		for i, step := range steps {
			dir := fmt.Sprintf("%s/log_2/turn_1/attempt_%d", massgenLogs, attempt)
			at := filepath.Join(w.dir, dir, "events.jsonl")
			switch step % 12 {
			case 0, 1, 2:
				w.put(dir+"/events.jsonl", text(fmt.Sprintf("%03d", i)))
				written++
			case 3:
				w.put(dir+"/events.jsonl", text(fmt.Sprintf("%03d", i))[:15])
			case 4:
				w.put(dir+"/events.jsonl", "\n")
			case 5:
				_ = os.Truncate(at, 7) // where it is
			case 6:
				_ = os.Remove(at)
			case 7:
				attempt++
			case 8:
				_ = os.Rename(at, at+".old")
			case 9:
				if os.MkdirAll(filepath.Dir(at), 0o755) == nil && os.Remove(at) == nil {
					_ = os.Symlink("/dev/zero", at)
				}
			case 10:
				w.put(dir+"/status.json", string(steps))
			default:
				w.step()
			}
		}
		w.end()
		last, texts := "", 0
		for _, l := range w.told {
			if l.Kind == agent.Text {
				texts++
				if l.Text <= last {
					t.Errorf("%q comes behind %q", l.Text, last)
				}
				last = l.Text
			}
		}
		if texts > written || len(w.told) > 4*len(steps)+maxTroubles {
			t.Errorf("%d were written, %d texts and %d lines told", written, texts, len(w.told))
		}
	})
}
