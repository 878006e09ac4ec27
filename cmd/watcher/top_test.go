package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

var update = flag.Bool("update", false, "write the pictures of top")

// noon is the present of all pictures.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// busy is a watcher with two outboxes and a run of each kind.
func busy() snapshot {
	three := 3
	run := func(i int, name string, state delegation.State) control.Run {
		return control.Run{Key: fmt.Sprintf("%012d%020d", i, i), Outbox: "main", Subagent: name, State: state, Profile: "claude", Created: noon.Add(-time.Duration(i) * time.Minute)}
	}
	running, queued, failed := run(1, "fix-the-tests", delegation.StateRunning), run(2, "docs", delegation.StateQueued), run(3, "sub_1a2b3c4d", delegation.StateEnded)
	running.Started, running.Usage = noon.Add(-50*time.Second), &delegation.Usage{Model: &delegation.ModelUsage{Money: "0.42 USD"}}
	queued.Position = 7
	failed.Outbox, failed.Reason, failed.ExitCode = "local-0123456789abcdef", delegation.ReasonExited, &three
	late := run(4, "late", delegation.StateEnded)
	late.Reason = delegation.ReasonDeadline
	return snapshot{
		now: noon, chosen: running.Key, runs: []control.Run{running, queued, failed, late},
		tail: []string{"Reading main.go", "\x1b[2J\x1b[31mred\x1b[0m and a bell \a", "ünïcödé 日本", "half a li"},
		status: control.Status{
			Version: "v1.2.3", StartedAt: noon.Add(-3 * time.Hour), MaxRunning: 4,
			Outboxes: []control.OutboxStatus{
				{Name: "main", Running: 1, Queued: 7, MaxRunning: 2, MaxQueued: 100},
				{Name: "local-0123456789abcdef", Notices: delegation.Notices{{Code: "disk", Text: "there is too little free space"}}},
			},
		},
	}
}

func calm() snapshot {
	s := busy()
	s.runs, s.chosen, s.tail, s.status.Outboxes = nil, "", nil, s.status.Outboxes[:1]
	return s
}

func crowded() snapshot {
	s := busy()
	for i := range 40 {
		r := s.runs[1]
		r.Key, r.Subagent = fmt.Sprintf("%012d", 100+i), fmt.Sprintf("many-%d", i)
		s.runs = append(s.runs, r)
	}
	s.chosen = s.runs[30].Key
	return s
}

// asking is busy with a question of the chosen run.
func asking(arguments string) snapshot {
	s := busy()
	s.questions = []control.Question{{Key: s.chosen, Outbox: "main", Subagent: "fix-the-tests", PendingApproval: delegation.PendingApproval{
		Approval: 3, Digest: strings.Repeat("5be1c0de", 8), Tool: "Bash", Arguments: arguments, ExpiresAt: noon.Add(4 * time.Minute),
	}}}
	s.status.Pools = []control.Pool{{Launcher: "gvisor", Shelves: []control.Shelf{{Ready: 1, Wanted: 2}}}}
	s.deciding = &s.questions[0]
	return s
}

func with(s snapshot, change func(*snapshot)) snapshot { change(&s); return s }

// TestPictures compares pictures with testdata/top. A picture that may change is written with -update, and looked at.
func TestPictures(t *testing.T) {
	for name, c := range map[string]struct {
		s             snapshot
		width, height int
	}{
		"busy-80x24":     {busy(), 80, 24},
		"busy-120x40":    {busy(), 120, 40},
		"busy-40x12":     {busy(), 40, 12},
		"busy-plain":     {busy(), plainWidth, 0},
		"calm-80x24":     {calm(), 80, 24},
		"crowded-80x24":  {crowded(), 80, 24},
		"question-80x24": {with(busy(), func(s *snapshot) { s.asking = true }), 80, 24},
		"asks-80x24":     {with(asking(`{"command":"make test"}`), func(s *snapshot) { s.deciding = nil }), 80, 24},
		"decide-80x24":   {asking(`{"command":"go test ./... \u001b[2J","timeout":600}`), 80, 24},
		"decide-40x12":   {asking(`{"command":"` + strings.Repeat("rm -rf build; ", 40) + `"}`), 40, 12},
		"said-80x24":     {with(busy(), func(s *snapshot) { s.said = "ended 000000000001" }), 80, 24},
		"gone-80x24":     {with(busy(), func(s *snapshot) { s.trouble = "no watcher is running" }), 80, 24},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, line := range picture(c.s, c.width, c.height) {
				got.WriteString(line.Text + "\n")
			}
			path := filepath.Join("testdata", "top", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || got.String() != string(want) {
				t.Errorf("got\n%swant\n%s%v", got.String(), want, err)
			}
		})
	}
}

// checkPicture says what no picture may be, whatever it shows: larger than the terminal, or its ruler.
func checkPicture(t *testing.T, s snapshot, width, height int) {
	t.Helper()
	lines := picture(s, width, height)
	if height > 0 && len(lines) > height {
		t.Errorf("%d lines for a height of %d", len(lines), height)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line.Text); n > width || strings.ContainsFunc(line.Text, cli.Hidden) || !utf8.ValidString(line.Text) {
			t.Errorf("%d characters for a width of %d: %q", n, width, line.Text)
		}
	}
	plain := func(_ cli.Colour, text string) string { return text }
	rest := strings.NewReplacer(toTop, "", clearLine, "", clearRest, "", "\r\n", "").Replace(frame(lines, plain))
	if strings.ContainsFunc(rest, cli.Hidden) {
		t.Errorf("something rules the terminal: %q", rest)
	}
}

// FuzzPicture: no text of a child, and no size, makes a picture that rules the terminal (H20).
func FuzzPicture(f *testing.F) {
	for _, text := range []string{"", "plain", "\x1b[2J", "\x1b]0;title\a", "\u009b31m", "a\u202eb", "\xff\xfe", "日本", "a\rb\nc\td", strings.Repeat("x", 3000)} {
		f.Add(text, 80, 24)
		f.Add(text, 1, 1)
		f.Add(text, 20, 3)
		f.Add(text, 80, 0)
	}
	f.Fuzz(func(t *testing.T, text string, width, height int) {
		if width < 1 || width > 300 || height < 0 || height > 100 {
			return
		}
		s := crowded()
		s.tail = append(strings.Split(text, "\n"), text)
		for i := range s.runs {
			s.runs[i].Subagent, s.runs[i].Profile, s.runs[i].Outbox, s.runs[i].Unserved = text, text, text, text
			s.runs[i].Usage = &delegation.Usage{Model: &delegation.ModelUsage{Money: text}}
		}
		s.status.Version, s.status.Outboxes[0].Name, s.status.Outboxes[0].Trouble = text, text, text
		s.status.Outboxes[1].Notices[0].Text = text
		checkPicture(t, s, width, height)
		s.asking = true
		checkPicture(t, s, width, height)
		s.questions = []control.Question{{Key: s.chosen, Outbox: text, Subagent: text, PendingApproval: delegation.PendingApproval{Tool: text, Arguments: text}}}
		checkPicture(t, s, width, height)
		s.deciding = &s.questions[0]
		checkPicture(t, s, width, height)
		if height > 0 && s.showsAll(width, height) && strings.Count(shownBelow(s, width, height), "| ") < len(s.asked(width))-1 {
			t.Errorf("a question that is cut may be approved, in %d by %d", width, height)
		}
		s.deciding, s.trouble, s.said, s.asking = nil, text, text, false
		checkPicture(t, s, width, height)
	})
}

// TestTheOutputOfAChosenChildIsBounded: whatever comes, and however it is cut.
func TestTheOutputOfAChosenChildIsBounded(t *testing.T) {
	all := &tail{}
	for range 3000 {
		all.add([]byte("one\ntw"))
		all.add([]byte("o\n"))
	}
	all.add([]byte(strings.Repeat("x", 1<<20)))
	lines := all.shown()
	if len(lines) != keptLines+1 || lines[0] != "one" || lines[keptLines-1] != "two" || len(lines[keptLines]) != keptLine || cap(all.whole) > 3*keptLines {
		t.Errorf("%d lines, room for %d", len(lines), cap(all.whole))
	}
}

func TestKeys(t *testing.T) {
	for text, want := range map[string][]topKey{
		"q": {'q'}, "\x03": {keyQuit}, "\x1b[A\x1bOBj": {keyUp, keyDown, 'j'}, "\x1b[15~c": nil, "\x1b": nil, "C\x00ü": nil,
	} {
		if got := keysOf(text); !slices.Equal(got, want) {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// shownBelow are the lines of a picture that begin with a bar.
func shownBelow(s snapshot, width, height int) string {
	var all strings.Builder
	for _, line := range picture(s, width, height) {
		if strings.HasPrefix(line.Text, "| ") || line.Text == "|" {
			all.WriteString("| \n")
		}
	}
	return all.String()
}

// topDesk is a watcher whose cancels and decisions are counted.
type topDesk struct {
	control.Service
	cancelled chan string
	decided   chan control.Decision
}

func (d topDesk) Decide(_ context.Context, _ string, decision control.Decision) (control.Question, error) {
	d.decided <- decision
	return control.Question{}, nil
}

// TestADecisionIsOfTheQuestionThatWasShown: a key alone decides nothing, yes is for what was seen whole, and a question that was exchanged
// meanwhile is not the one.
func TestADecisionIsOfTheQuestionThatWasShown(t *testing.T) {
	desk := topDesk{decided: make(chan control.Decision, 9)}
	l := &live{service: desk, width: 80, height: 24, said: make(chan string, 9)}
	begin := func(arguments string) {
		l.shown = with(asking(arguments), func(s *snapshot) { s.deciding = nil })
	}
	press := func(keys ...topKey) {
		for _, key := range keys {
			l.press(t.Context(), key)
		}
	}
	begin("{}")
	press('y', 'n', 'p', keyDown, 'y') // not asked; asked, and left
	begin(strings.Repeat("x", 9000))
	press('p', 'y') // more than a terminal shows
	begin("{}")
	l.shown.questions[0].Cut = true
	press('p', 'y')
	begin("{}")
	press('p')
	other := asking(`{"command":"another"}`)
	other.questions[0].Digest = strings.Repeat("0", 64)
	l.see(looked{status: other.status, runs: other.runs, questions: other.questions})
	press('y')
	if len(desk.decided) > 0 {
		t.Fatalf("%+v was decided", <-desk.decided)
	}
	for key, grant := range map[topKey]bool{'y': true, 'n': false} {
		begin("{}")
		press('p', key)
		if got := <-desk.decided; got.Grant != grant || got.Approval != 3 || got.Digest != l.shown.questions[0].Digest {
			t.Errorf("%c: %+v", key, got)
		}
	}
}

func (d topDesk) Cancel(_ context.Context, ref string) (control.Run, error) {
	d.cancelled <- ref
	return control.Run{}, nil
}

// TestACancelIsOfTheRunThatWasNamed: a key alone ends nothing, and a question is about the run that it shows.
func TestACancelIsOfTheRunThatWasNamed(t *testing.T) {
	desk := topDesk{cancelled: make(chan string, 9)}
	l := &live{service: desk, shown: busy(), asked: make(chan bool, 1), said: make(chan string, 9)}
	first := l.shown.chosen
	press := func(keys ...topKey) {
		for _, key := range keys {
			if l.press(t.Context(), key) {
				t.Errorf("%v leaves", keys)
			}
		}
	}
	press('y', 'c', 'n', 'y', 'c', keyDown, 'y')
	l.choose(-9)
	press('c')
	l.see(looked{status: l.shown.status, runs: l.shown.runs[1:]}) // the run is gone, and another one stands there
	press('y', keyDown, keyDown, keyDown, 'c', 'y')               // that one has ended
	if len(desk.cancelled) > 0 {
		t.Fatalf("%s was cancelled", <-desk.cancelled)
	}
	l.shown = busy()
	press('c', 'y')
	if got := <-desk.cancelled; got != first {
		t.Errorf("%s was cancelled, not %s", got, first)
	}
	if !l.press(t.Context(), 'q') || !l.press(t.Context(), keyQuit) {
		t.Error("q does not leave")
	}
}

// TestNewsOfRuns: a run that is watched is told again when it stands elsewhere, and not because time goes by.
func TestNewsOfRuns(t *testing.T) {
	runs, seen := busy().runs, watched{}
	if first := seen.news(runs); len(first) != len(runs) || first[0].Key != runs[len(runs)-1].Key {
		t.Errorf("at first there are %d of %d", len(first), len(runs))
	}
	runs = slices.Clone(runs)
	runs[1].Position = 6
	if news := seen.news(runs); len(news) != 1 || news[0].Key != runs[1].Key {
		t.Errorf("then %+v", news)
	}
	if news := seen.news(runs[:1]); len(news) > 0 || len(seen) != 1 {
		t.Errorf("at last %+v, and %d are remembered", news, len(seen))
	}
}
