package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"torno/internal/control"
)

// page is the output of the demo.
type page struct{ out io.Writer }

func newPage(out io.Writer) *page { return &page{out} }

func (p *page) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p *page) head(text string) { p.say("\n%s", text) }

// item is a line with a name before its text.
func (p *page) item(name, format string, args ...any) {
	p.say("  %-16s%s", name, fmt.Sprintf(format, args...))
}

func (p *page) title(text string, e *engine, away error) {
	p.say("%s", text)
	p.head("On the host")
	if e == nil {
		p.item("engine", "%v", away)
		return
	}
	whose := either(e.private, "started for this demo alone", "which others may use too")
	p.item("engine", "Docker %s, %s", e.version, whose)
}

func (p *page) watcher(serves string, status control.Status, ready time.Duration) {
	p.item("watcher", "ready after %s%s", ms(ready), either(serves == "", "", "; serves "+serves))
	for _, l := range status.Launchers {
		missing := []string{}
		for _, key := range slices.Sorted(maps.Keys(l.Guarantees)) {
			if g := l.Guarantees[key]; !g.Enforced {
				missing = append(missing, fmt.Sprintf("without %s: %s", key, g.By))
			}
		}
		p.item("sandboxes", "%s, with %d of %d guarantees", l.Name, len(l.Guarantees)-len(missing), len(l.Guarantees))
		for _, m := range missing {
			p.item("", "%s", m)
		}
	}
}

func (p *page) cage(c cage) {
	p.head("The agent, as it sees itself")
	p.item("network", "%s", strings.Join(c.Interfaces, ", "))
	p.item("capabilities", "%s", either(c.capable(), c.Capabilities, "none"))
	p.item("engine's socket", "%s", either(c.Socket, "there", "not there"))
	p.item("user", "%d", c.UID)
	p.head(fmt.Sprintf("%-72s%s", "Its children", "request → answer"))
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// words are the names of the ends, for people.
var words = map[string]string{"exited": "completed", "cancelled": "cancelled", "deadline": "timed out", "refused": "refused"}

func (p *page) ending(of part, e ending) {
	mark, word, text := "✓", words[string(e.Reason)], of.tells(e)
	if err := of.judge(e); err != nil {
		mark, word, text = "✗", string(e.Reason), err.Error()
	}
	p.say("%s %-10s %-10s %-54s %9s", mark, e.Child, word, text, ms(e.Took))
}

func (p *page) together(d time.Duration) {
	p.say("  The three counters ran at the same time, for %s.", ms(d))
}

// timings is the table of waiting times.
func (p *page) timings(all []ending) {
	p.head("How long each part took, in milliseconds")
	p.say("  %-10s %9s %9s %9s %9s %9s %9s %14s", "", "admit", "queue", "create", "start", "run", "in all", "for the agent")
	for _, e := range all {
		t := e.Timings
		if t == nil {
			p.say("  %-10s %59s %14.1f", e.Child, "refused before a sandbox was made", float64(e.Took)/1e6)
			continue
		}
		p.say("  %-10s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %14.1f", e.Child,
			t.Admit, t.Queue, t.Create, t.Start, t.Run, t.Total, float64(e.Took)/1e6)
	}
}

// compare shows both looks and what is left of ours, which is an error.
func (p *page) compare(before, after sight, marks []string, private bool) error {
	p.head("What is left on the machine")
	p.say("  %-16s %9s %9s %9s", "", "before", "after", "of ours")
	var all []string
	for _, kind := range kinds {
		if before[kind] == nil && after[kind] == nil {
			continue // there is no engine that could have any
		}
		found := left(before, after, kind, marks, private)
		p.say("  %-16s %9d %9d %9d", kind, len(before[kind]), len(after[kind]), len(found))
		for _, thing := range found {
			all = append(all, fmt.Sprintf("%s: %s", kind, thing))
		}
	}
	if len(all) == 0 {
		p.say("  Nothing.")
		return nil
	}
	return errors.New("this is left:\n  " + strings.Join(all, "\n  "))
}

func (p *page) end(took time.Duration, good bool) {
	if good {
		p.head(fmt.Sprintf("All as it should be, in %.1f seconds.", took.Seconds()))
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
