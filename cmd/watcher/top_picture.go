package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"torno/internal/cli"
	"torno/internal/control"
)

// snapshot is all that the picture of top shows. The picture depends only on it and on the size of the terminal.
type snapshot struct {
	now     time.Time
	status  control.Status
	trouble string        // why the watcher cannot be asked, "" if it can
	runs    []control.Run // newest first
	chosen  string        // the key of a run, "" for none
	tail    []string      // the last lines of the chosen run's output, as the child wrote them
	asking  bool          // top asks the operator whether to cancel the chosen run
	said    string        // the result of the last key

	questions []control.Question // the questions that wait, of all runs
	deciding  *control.Question  // the question that is shown and that the next key decides; nil for none
}

// Bounds for parts of a picture, whatever its height.
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

// picture draws a snapshot into at most height lines of at most width characters, without control characters. A height
// of 0 means that the reader is not a terminal: picture then draws every run, and no line about keys.
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

// top returns the lines about the watcher and its outboxes.
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

// pool tells how many sandboxes that were made ahead are ready, or returns "" if none are wanted.
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

// boxes returns a line with the load of each outbox, if there are several. The load of a single one is in the first
// line.
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

// notices returns lines about everything that waits for the operator: questions of agents, and troubles that keep the
// watcher from its work.
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

// table returns the head and as many runs as fit, the chosen run among them.
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

// at returns the index of the chosen run, or 0 if it is not listed.
func (s snapshot) at() int {
	for i, r := range s.runs {
		if r.Key == s.chosen {
			return i
		}
	}
	return 0
}

// aligned returns rows as lines of text, with the cells in columns.
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

// below returns the lines below the table: the question that is to be decided, or else the chosen child's output.
func (s snapshot) below(room, width int) []cli.Cell {
	if s.deciding != nil {
		return s.asked(width)[:room]
	}
	return s.output(room, width)
}

// output returns the end of the chosen child's output. Each line has a bar before it, so that nobody takes it for a
// line of top itself.
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

// foot returns the last line: a question, the result of the last key, or the list of keys.
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
