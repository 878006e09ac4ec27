package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"torno/configs"
	"torno/internal/cli"
)

// logged is what a handler writes for one record at a known time.
func logged(t *testing.T, change func(*cli.Output), log func(slog.Handler) slog.Handler, r slog.Record) string {
	t.Helper()
	var out bytes.Buffer
	o := cli.NewOutput(&out, func(string) string { return "" })
	if change != nil {
		change(o)
	}
	handler := newLog(o, configs.Log{Format: configs.LogText, Level: configs.LevelDebug}).Handler()
	if log != nil {
		handler = log(handler)
	}
	if err := handler.Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func record(level slog.Level, message string, args ...any) slog.Record {
	r := slog.NewRecord(time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC), level, message, 0)
	r.Add(args...)
	return r
}

func TestALineForPeople(t *testing.T) {
	r := record(slog.LevelInfo, "run ended", "reason", "exited", "total", 1500*time.Millisecond)
	if got, want := logged(t, nil, nil, r), "2026-03-01T12:30:00Z  info   run ended                           reason=exited  total=1.5s\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	terminal := func(o *cli.Output) { o.Terminal = true }
	if got, want := logged(t, terminal, nil, record(slog.LevelWarn, "hm")), "12:30:00  warn   hm\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	colour := func(o *cli.Output) { o.Terminal, o.Colour = true, true }
	if got := logged(t, colour, nil, record(slog.LevelError, "ouch", "k", "v")); !strings.Contains(got, "\x1b[31merror\x1b[0m") || !strings.Contains(got, "\x1b[2mk=\x1b[0mv") {
		t.Errorf("got %q", got)
	}
}

func TestGroupsAndAttributes(t *testing.T) {
	with := func(h slog.Handler) slog.Handler {
		return h.WithAttrs([]slog.Attr{slog.String("outbox", "main")}).WithGroup("").WithGroup("a").WithAttrs([]slog.Attr{slog.Int("n", 1)})
	}
	r := record(slog.LevelDebug, "m", slog.Group("b", "c", true, slog.Group("", "d", 2)), slog.Attr{})
	if got, want := strings.Fields(logged(t, nil, with, r)), "debug m outbox=main a.n=1 a.b.c=true a.b.d=2"; strings.Join(got[1:], " ") != want {
		t.Errorf("got %q, want %q", got[1:], want)
	}
}

// TestStrangersCannotWriteLines: what a request says ends up in the log, and stays one value of one line.
func TestStrangersCannotWriteLines(t *testing.T) {
	r := record(slog.LevelInfo, "evil\nmessage\x1b[2J", "file", "a b=\"c\"\n\x1b]0;x\u202e", "error", errors.New("two words"), "empty", "")
	got := logged(t, nil, nil, r)
	if strings.Count(got, "\n") != 1 || strings.ContainsAny(strings.TrimSuffix(got, "\n"), "\x1b\u202e\n") {
		t.Errorf("got %q", got)
	}
	if !strings.HasSuffix(got, `file="a b=\"c\"\n\x1b]0;x\u202e"  error="two words"  empty=""`+"\n") {
		t.Errorf("got %q", got)
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format   configs.LogFormat
		terminal bool
		json     bool
	}{
		{configs.LogAuto, false, true}, {configs.LogAuto, true, false}, {configs.LogJSON, true, true}, {configs.LogText, false, false},
	} {
		var out bytes.Buffer
		o := cli.NewOutput(&out, func(string) string { return "" })
		o.Terminal = c.terminal
		log := newLog(o, configs.Log{Format: c.format, Level: configs.LevelWarn})
		log.Info("not this")
		log.Warn("this", "took", time.Second)
		if got := out.String(); strings.HasPrefix(got, "{") != c.json || strings.Contains(got, "not this") || !strings.Contains(got, "1s") {
			t.Errorf("%+v writes %q", c, got)
		}
	}
}

// TestAStartFitsTheTerminal: what a start says is no wrapped list of attributes there. A pipe has everything.
func TestAStartFitsTheTerminal(t *testing.T) {
	terminal := func(o *cli.Output) { o.Terminal = true }
	chose := []any{"profile", "default", "launcher", "gvisor", "because", "no Docker engine answers"}
	for want, r := range map[string]slog.Record{
		"": record(slog.LevelInfo, "chose a launcher", chose...),
		"12:30:00  info   profile default uses gvisor: no Docker engine answers\n": record(slog.LevelInfo, "chose a launcher", append(chose, "errors", errors.New("long\nlong"))...),
		"12:30:00  info   serving /srv/o; with gvisor; not enforced: memory, pids\n": record(slog.LevelInfo, "serving", "outboxes", "/srv/o (local-0123456789abcdef)", "state", "/s",
			"launcher", "gvisor", "not_enforced", "memory,pids"),
		"12:30:00  info   try: subagent --outbox /a\\x1b[2J spawn\n": record(slog.LevelInfo, "try", "next", "subagent --outbox /a\x1b[2J spawn"),
	} {
		if got := logged(t, terminal, nil, r); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if got := logged(t, nil, nil, r); !strings.Contains(got, "  "+r.Message+"  ") || !strings.Contains(got, "=") {
			t.Errorf("into a pipe: %s", got)
		}
	}
}
