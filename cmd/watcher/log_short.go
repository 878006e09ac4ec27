package main

import (
	"cmp"
	"log/slog"
	"strings"

	"torno/internal/cli"
)

// inShortLine returns the short line that a terminal shows for a message of the start, in place of message and
// attributes. "" hides the message. For all other messages ok is false. JSON has everything.
func inShortLine(message string, attrs []slog.Attr) (short string, ok bool) {
	of := func(key string) string {
		for _, a := range attrs {
			if a.Key == key {
				return cli.OneLine(a.Value.String())
			}
		}
		return ""
	}
	switch message {
	case "chose a launcher":
		if of("errors") == "" {
			return "", true // it was the first choice, and the next line names it
		}
		return "profile " + of("profile") + " uses " + of("launcher") + ": " + of("because"), true
	case "serving":
		return servingShort(of("outboxes"), attrs), true
	case "try":
		return "try: " + of("next"), true
	}
	return "", false
}

// servingShort returns the short line for "serving". It leaves out the name of a local outbox, which is a hash of its
// directory.
func servingShort(outboxes string, attrs []slog.Attr) string {
	if dir, _, local := strings.Cut(outboxes, " (local-"); local {
		outboxes = dir
	}
	text := "serving " + cmp.Or(outboxes, "no outbox yet")
	for _, a := range attrs {
		switch said := cli.OneLine(a.Value.String()); {
		case a.Key == "waits_for" && said != "":
			text += "; another watcher serves " + said
		case a.Key == "launcher":
			text += "; with " + said
		case a.Key == "not_enforced" && said != "":
			text += "; not enforced: " + strings.ReplaceAll(said, ",", ", ")
		}
	}
	return text
}
