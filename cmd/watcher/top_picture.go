package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"torno/internal/cli"
	"torno/internal/control"
)

// snapshot is all that the picture of top shows. The picture depends on nothing else, and on the size.
type snapshot struct {
	now     time.Time
	status  control.Status
	trouble string        // why the watcher cannot be asked, "" where it can
	runs    []control.Run // newest first
	chosen  string        // the key of a run, "" for none
	tail    []string      // the last lines of the chosen one's output, as the child wrote them
	asking  bool          // whether the chosen one is to be cancelled
	said    string        // what became of the last key

	questions []control.Question // that wait, of all runs
	deciding  *control.Question  // shown, and decided by the next key; nil for none
}

// The parts of a picture that are bounded whatever its height.
const (
	shownBoxes   = 4
	shownNotices = 3
	leastTail    = 3
)

const (
	topKeys     = "up/down: choose   c: cancel   p: decide   a: ended ones too   q: leave"
	topQuestion = "cancel %s? y/n"
	chosenLine  = cli.Colour("7") // inverted
)

// picture draws a snapshot into at most height lines of at most width characters, without a control character. A height of 0
// is for a reader that is no terminal: everything is drawn once, and nothing of keys.
func picture(s snapshot, width, height int) (lines []cli.Cell) {
	lines = s.top()
	if height == 0 {
		return cut(append(lines, s.table(len(s.runs)+1, width)...), width)
	}
	room := height - len(lines) - 1
	tail := 0
	switch {
	case s.deciding != nil:
		tail = max(min(len(s.asked(width)), s.roomBelow(height)), 0)
	case s.chosen != "" && room > 3*leastTail:
		tail = room / 3
	}
	lines = append(lines, s.table(max(room-tail, 1), width)...)
	for len(lines) < height-1-tail {
		lines = append(lines, cli.Cell{})
	}
	if tail > 0 {
		lines = append(lines, s.below(tail, width)...)
	}
	lines = lines[:min(len(lines), height-1)]
	return cut(append(lines, s.foot(width, height)), width)
}

func cut(lines []cli.Cell, width int) []cli.Cell {
	for i := range lines {
		lines[i].Text = cli.Cut(cli.OneLine(lines[i].Text), width)
	}
	return lines
}

// top is about the watcher and its outboxes.
func (s snapshot) top() []cli.Cell {
	if s.trouble != "" {
		return []cli.Cell{{Text: "watcher top   " + s.now.Format(time.TimeOnly), Colour: cli.Bold}, {Text: s.trouble, Colour: cli.Red}, {}}
	}
	running, queued := 0, 0
	for _, box := range s.status.Outboxes {
		running, queued = running+box.Running, queued+box.Queued
	}
	lines := []cli.Cell{{Colour: cli.Bold, Text: fmt.Sprintf("watcher %s   up %s   running %s   waiting %d   %s%s",
		s.status.Version, cli.Age(s.now.Sub(s.status.StartedAt)), outOf(running, s.status.MaxRunning), queued, s.pool(), s.now.Format(time.TimeOnly))}}
	lines = append(lines, s.boxes()...)
	return append(append(lines, s.notices()...), cli.Cell{})
}

// pool is how many sandboxes are ready that were made ahead, "" where there are to be none.
func (s snapshot) pool() string {
	ready, wanted := 0, 0
	for _, pool := range s.status.Pools {
		for _, shelf := range pool.Shelves {
			ready, wanted = ready+shelf.Ready, wanted+shelf.Wanted
		}
	}
	if ready+wanted == 0 {
		return ""
	}
	return fmt.Sprintf("ready %s   ", outOf(ready, wanted))
}

// boxes are the loads of several outboxes; of a single one the first line says it.
func (s snapshot) boxes() (lines []cli.Cell) {
	for i, box := range s.status.Outboxes {
		if len(s.status.Outboxes) == 1 {
			break
		}
		if i == shownBoxes {
			lines = append(lines, cli.Cell{Text: fmt.Sprintf("  and %d more outboxes", len(s.status.Outboxes)-i), Colour: cli.Dim})
			break
		}
		lines = append(lines, cli.Cell{Text: fmt.Sprintf("  %-*s  running %s   waiting %s", shownName, cli.Cut(cli.OneLine(box.Name), shownName),
			outOf(box.Running, box.MaxRunning), outOf(box.Queued, box.MaxQueued))})
	}
	return lines
}

func outOf(n, most int) string {
	if most == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, most)
}

// notices say what waits for the operator: what agents ask, and what keeps the watcher from its work.
func (s snapshot) notices() (lines []cli.Cell) {
	add := func(text string) { lines = append(lines, cli.Cell{Text: "! " + text, Colour: cli.Yellow}) }
	for _, q := range s.questions {
		add(fmt.Sprintf("%s of %s asks whether it may use %s", cli.Cut(cli.OneLine(q.Subagent), 30), q.Outbox, q.Tool))
	}
	for _, box := range s.status.Outboxes {
		if box.Trouble != "" {
			add(box.Name + ": " + box.Trouble)
		}
		for _, notice := range box.Notices {
			add(box.Name + ": " + notice.Text)
		}
	}
	if more := len(lines) - shownNotices; more > 0 {
		lines = append(lines[:shownNotices], cli.Cell{Text: fmt.Sprintf("! and %d more", more), Colour: cli.Yellow})
	}
	return lines
}

// table is the head and as many runs as fit, the chosen one among them.
func (s snapshot) table(room, width int) (lines []cli.Cell) {
	if len(s.runs) == 0 {
		return []cli.Cell{{Text: "nothing runs", Colour: cli.Dim}}
	}
	shown := min(len(s.runs), max(room-1, 1))
	first := max(0, min(s.at()-shown/2, len(s.runs)-shown))
	runs := s.runs[first : first+shown]
	rows := cli.Fit(runRows(runs, s.now), width)
	for i, text := range aligned(rows) {
		line := cli.Cell{Text: text}
		switch {
		case i == 0:
			line.Colour = cli.Bold
		case runs[i-1].Key == s.chosen:
			line.Colour = chosenLine
		default:
			line.Colour = rows[i][len(rows[i])-1].Colour
		}
		lines = append(lines, line)
	}
	return lines
}

// at is the place of the chosen run, 0 where it is not there.
func (s snapshot) at() int {
	for i, r := range s.runs {
		if r.Key == s.chosen {
			return i
		}
	}
	return 0
}

// aligned are rows as lines of text.
func aligned(rows [][]cli.Cell) (lines []string) {
	var widths []int
	for _, row := range rows {
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&line, "%-*s", widths[j]+2, cell.Text)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// below is what stands below the table: the question that is to be decided, or the chosen child's output.
func (s snapshot) below(room, width int) []cli.Cell {
	if s.deciding != nil {
		return s.asked(width)[:room]
	}
	return s.output(room, width)
}

// output is the end of what the chosen child wrote. Each line has a bar before it, so that none passes for one of ours.
func (s snapshot) output(room, width int) []cli.Cell {
	name := ""
	if i := s.at(); i < len(s.runs) {
		name = s.runs[i].Subagent
	}
	head := "-- " + cli.Cut(cli.OneLine(name), 40) + " "
	lines := []cli.Cell{{Text: head + strings.Repeat("-", max(0, width-utf8.RuneCountInString(head))), Colour: cli.Dim}}
	for _, line := range s.tail[max(0, len(s.tail)-(room-1)):] {
		lines = append(lines, cli.Cell{Text: "| " + line})
	}
	for len(lines) < room {
		lines = append(lines, cli.Cell{})
	}
	return lines
}

// foot is the last line: a question, what became of the last key, or the keys.
func (s snapshot) foot(width, height int) cli.Cell {
	if s.deciding != nil {
		return s.decideFoot(width, height)
	}
	if i := s.at(); s.asking && i < len(s.runs) {
		return cli.Cell{Text: fmt.Sprintf(topQuestion, cli.Cut(cli.OneLine(s.runs[i].Subagent), 40)), Colour: cli.Yellow}
	}
	if s.said != "" {
		return cli.Cell{Text: s.said, Colour: cli.Yellow}
	}
	return cli.Cell{Text: topKeys, Colour: cli.Dim}
}
