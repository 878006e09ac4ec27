package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"torno/configs"
	"torno/internal/cli"
)

var levels = map[configs.LogLevel]slog.Level{
	configs.LevelDebug: slog.LevelDebug, configs.LevelInfo: slog.LevelInfo,
	configs.LevelWarn: slog.LevelWarn, configs.LevelError: slog.LevelError,
}

// newLog returns the watcher's log: text for people, JSON for programs that collect it.
func newLog(out *cli.Output, c configs.Log) *slog.Logger {
	level := levels[c.Level]
	if c.Format == configs.LogJSON || c.Format == configs.LogAuto && !out.Terminal {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
	}
	return slog.New(&humanLog{out: out, level: level, mu: new(sync.Mutex)})
}

// readable writes a duration in units such as 1m30s, and not in nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// humanLog is a slog.Handler that writes aligned lines: time, level, message, and then the attributes.
type humanLog struct {
	out   *cli.Output
	level slog.Level
	attrs []slog.Attr // their names begin with their groups
	group string

	mu *sync.Mutex // shared by all handlers of one output
}

func (h *humanLog) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// messageWidth is the width of a padded message. It makes the attributes of most lines begin in one column.
const messageWidth = 34

func (h *humanLog) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	form := time.RFC3339
	if h.out.Terminal {
		form = time.TimeOnly
	}
	word, colour := levelWord(r.Level)
	fmt.Fprintf(&line, "%s  %s  ", h.out.Paint(cli.Dim, r.Time.Format(form)), h.out.Paint(colour, fmt.Sprintf("%-5s", word)))
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, flatten(h.group, a)...)
		return true
	})
	message := cli.OneLine(r.Message)
	if short, ok := inShortLine(r.Message, attrs); ok && h.out.Terminal {
		message, attrs = short, nil
	}
	if message == "" {
		return nil
	}
	if len(attrs) > 0 {
		message = fmt.Sprintf("%-*s", messageWidth, message)
	}
	line.WriteString(message)
	for _, a := range attrs {
		fmt.Fprintf(&line, "  %s%s", h.out.Paint(cli.Dim, a.Key+"="), value(a.Value))
	}
	line.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.out.Write([]byte(line.String()))
	return err
}

func levelWord(level slog.Level) (string, cli.Colour) {
	switch {
	case level >= slog.LevelError:
		return "error", cli.Red
	case level >= slog.LevelWarn:
		return "warn", cli.Yellow
	case level >= slog.LevelInfo:
		return "info", cli.Green
	}
	return "debug", cli.Dim
}

func (h *humanLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		more.attrs = append(more.attrs, flatten(h.group, a)...)
	}
	return &more
}

func (h *humanLog) WithGroup(name string) slog.Handler {
	more := *h
	if name != "" {
		more.group += name + "."
	}
	return &more
}

// flatten returns an attribute and all attributes inside it as one list. Each name begins with its groups. An empty
// attribute gives nothing.
func flatten(group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" && v.Any() == nil {
			return nil
		}
		return []slog.Attr{{Key: group + a.Key, Value: v}}
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	var all []slog.Attr
	for _, inner := range v.Group() {
		all = append(all, flatten(group, inner)...)
	}
	return all
}

// value writes a value, in quotes if it could be mistaken for several values. Many values come from strangers.
func value(v slog.Value) string {
	text := v.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || r == '"' || r == '=' || cli.Hidden(r) }) {
		return strconv.Quote(text)
	}
	return text
}
