package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"torno/internal/cli"
	"torno/internal/control"
)

const (
	topDecide  = "may %s do this, once? y: yes   n: no"
	topPartial = "not all of it is shown, so only n: no. Else: watcher approve %s %s"
)

// question returns the first waiting question of the chosen run, or nil if there is none.
func (s snapshot) question() *control.Question {
	for i := range s.questions {
		if s.chosen != "" && s.questions[i].Key == s.chosen {
			return &s.questions[i]
		}
	}
	return nil
}

// waits reports whether a question that was shown still waits, about the same call.
func (s snapshot) waits(q control.Question) bool {
	for _, other := range s.questions {
		if other.Key == q.Key && other.Approval == q.Approval && other.Digest == q.Digest {
			return true
		}
	}
	return false
}

// asked returns the lines of the question that is to be decided. They hold the child's words, each line behind a bar.
func (s snapshot) asked(width int) []cli.Cell {
	q := s.deciding
	head := fmt.Sprintf("-- %s asks, %s until it is denied ", cli.Cut(cli.OneLine(q.Subagent), 40), cli.Age(q.ExpiresAt.Sub(s.now)))
	lines := []cli.Cell{{Text: head + strings.Repeat("-", max(0, width-utf8.RuneCountInString(head))), Colour: cli.Dim}}
	text := []rune(cli.OneLine(q.Tool) + " " + argumentsText(*q))
	room := max(width-len("| "), 1)
	if len(string(text)) > len(text) { // terminals draw some characters with double width, which would hide the end of the line
		room = max(room/2, 1)
	}
	for ; len(text) > 0; text = text[min(room, len(text)):] {
		lines = append(lines, cli.Cell{Text: "| " + string(text[:min(room, len(text))])})
	}
	return lines
}

// showsAll reports whether a picture of this size shows the whole call that is to be decided. It matters because the
// hidden part may be the important one.
func (s snapshot) showsAll(width, height int) bool {
	asked := s.asked(width)
	return !s.deciding.Cut && width >= 40 && len(asked) <= s.roomBelow(height)
}

// roomBelow returns how many lines are free between the table and the last line, if the table is only its head and one
// run.
func (s snapshot) roomBelow(height int) int { return height - len(s.top()) - 3 }

// decideFoot returns the last line while a question is shown. It offers y only if the whole call is visible.
func (s snapshot) decideFoot(width, height int) cli.Cell {
	if s.showsAll(width, height) {
		return cli.Cell{Text: fmt.Sprintf(topDecide, cli.Cut(cli.OneLine(s.deciding.Subagent), 30)), Colour: cli.Yellow}
	}
	return cli.Cell{Text: fmt.Sprintf(topPartial, s.deciding.Key[:min(shownKey, len(s.deciding.Key))], nameOf(*s.deciding)), Colour: cli.Yellow}
}

// pressDeciding acts on a key while a question is shown. Only y and n decide, and y only if the whole call is visible.
func (l *live) pressDeciding(ctx context.Context, key topKey) {
	q, whole := *l.shown.deciding, l.shown.showsAll(l.width, l.height)
	l.shown.deciding = nil
	switch {
	case key == 'y' && whole:
		l.decide(ctx, q, true)
	case key == 'n':
		l.decide(ctx, q, false)
	}
}

// decide grants or denies a question. It sends the digest of the call that the operator has seen, so it cannot decide
// another call.
func (l *live) decide(ctx context.Context, q control.Question, grant bool) {
	word := "denied"
	if grant {
		word = "approved"
	}
	l.later(ctx, func() string {
		if _, err := l.service.Decide(ctx, q.Key, control.Decision{Approval: q.Approval, Digest: q.Digest, Grant: grant}); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s: %s %d", q.Subagent, word, q.Approval)
	})
}
