package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/cli"
	"torno/internal/control"
	"torno/sandbox"
)

// reference is the help text about operands called REF.
const reference = `
REF names a run: by its subagent (the newest run of it), by OUTBOX/SUBAGENT, or by the beginning of the run's key.`

func (a *app) showCommand() cli.Command {
	return cli.Command{
		Name: "show", Operands: "REF", Brief: "show everything about a run",
		About:    reference,
		Examples: []string{"watcher show sub_1a2b3c4d", "watcher show --json main/sub_1a2b3c4d"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			ref, err := oneReference("show", args)
			if err != nil {
				return 0, err
			}
			return exitOK, a.ask(ctx, func(s control.Service) error {
				r, err := s.Run(ctx, ref)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Out.Object(r)
				}
				a.show(r)
				return nil
			})
		},
	}
}

func oneReference(command string, args cli.Args) (string, error) {
	all := args.All()
	if len(all) != 1 {
		return "", cli.Usage("%s takes one run", command)
	}
	return all[0], nil
}

// show prints a run for people. It puts a stranger's text on one line, or a bar before each of its lines.
func (a *app) show(r control.Run) {
	a.Out.Table("", facts(r))
	for _, stream := range []struct{ name, text string }{{"standard output", r.StdoutTail}, {"standard error", r.StderrTail}} {
		if text := strings.TrimRight(stream.text, "\n"); text != "" {
			fmt.Fprintf(a.Out, "the end of its %s:\n", stream.name)
			a.Out.Quoted(text + "\n")
		}
	}
}

func facts(r control.Run) (rows [][]cli.Cell) {
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, []cli.Cell{{Text: name, Colour: cli.Dim}, {Text: cli.OneLine(text)}})
		}
	}
	add("run", r.Key)
	rows = append(rows, []cli.Cell{{Text: "state", Colour: cli.Dim}, stateOf(r, time.Now())})
	if r.Error != nil {
		add("because", r.Text)
		add("field", r.Error.Field)
		add("next", r.Error.Hint)
	}
	if r.Stranded != "" && r.State != delegation.StateEnded {
		add("because", r.Stranded)
		add("next", "bring its site back (a Docker engine or a state directory); or give the run up with watcher cancel --abandon, which leaves alone any process that may still run there")
	}
	if r.Unserved != "" && r.State != delegation.StateEnded {
		add("not served", r.Unserved)
	}
	add("outbox", r.Outbox)
	if r.OutboxID != r.Outbox {
		add("outbox id", r.OutboxID)
	}
	add("subagent", r.Subagent)
	add("request", r.Request)
	if r.Attempt > 1 {
		add("attempt", fmt.Sprint(r.Attempt))
	}
	add("parent", parentInFull(r))
	add("profile", r.Profile)
	add("launcher", r.Launcher)
	add("sandbox", r.Sandbox)
	add("sandbox id", string(r.SandboxID))
	add("workspace", r.Workspace)
	add("spec", r.SpecDigest)
	add("file", r.File)
	add("noticed", moment(r.Created))
	add("started", moment(r.Started))
	add("ended", moment(r.Ended))
	add("took", phases(r.Timings))
	if r.State == delegation.StateEnded {
		add("used", usage(r.Usage))
	} else {
		add("used so far", usage(r.Usage))
	}
	for _, w := range r.Warnings {
		add("warning", w)
	}
	if !r.Released.IsZero() {
		add("attested", attested(r.Attestation))
	}
	if r.Attestation != nil {
		for _, seen := range r.Attestation.Seen {
			add("  "+seen.What, seen.Value)
		}
	}
	if r.State == delegation.StateEnded && !r.Answered {
		add("answer", "not yet written")
	}
	allowed := 0
	for _, q := range r.Questions {
		if q.By == approval.ByPolicy && q.Outcome == approval.Granted {
			allowed++
			continue
		}
		add(fmt.Sprintf("question %d", q.Approval), questionText(q))
	}
	if allowed > 0 {
		add("questions", fmt.Sprintf("the policy allowed %d; --json lists them", allowed))
	}
	return rows
}

// questionText describes a question: the call, and who decided it, how and when.
func questionText(q control.Asked) string {
	clock := func(t time.Time) string { return t.Local().Format(time.TimeOnly) }
	text := strings.TrimSpace(q.Tool+" "+q.Arguments) + ", asked " + clock(q.AskedAt)
	if q.Outcome == "" {
		return text + ", not decided"
	}
	if q.By == approval.ByTime {
		text += ", expired " + clock(q.DecidedAt)
	} else {
		text += fmt.Sprintf(", %s by the %s %s", q.Outcome, q.By, clock(q.DecidedAt))
	}
	if q.Why != "" {
		text += ": " + q.Why
	}
	return text
}

// parentInFull returns the parent that a request named, and the run that it meant.
func parentInFull(r control.Run) string {
	switch {
	case r.Parent == "":
		return ""
	case r.ParentRun == "":
		return r.Parent + ", but this outbox had no run of that subagent"
	}
	return fmt.Sprintf("%s, run %s; this run is at depth %d", r.Parent, r.ParentRun[:min(shownKey, len(r.ParentRun))], r.Depth)
}

// attested tells whether the host looked at the sandbox before the agent ran, and if not, why.
func attested(a *sandbox.Attestation) string {
	switch {
	case a == nil:
		return "no: its agent was never released"
	case !a.Attested:
		return "no: " + a.Why
	}
	return "yes, by the host; it saw the following before the agent ran"
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000 -07:00")
}

func phases(t *delegation.Timings) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s: admit %s, queue %s, create %s, start %s, run %s",
		ms(t.Total), ms(t.Admit), ms(t.Queue), ms(t.Create), ms(t.Start), ms(t.Run))
}

// ms writes a number of milliseconds for people, with a sensible unit.
func ms(milliseconds float64) string {
	d := time.Duration(milliseconds * float64(time.Millisecond))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// spent tells how much a run has used of its model through the gateway.
func spent(m *delegation.ModelUsage) string {
	text := fmt.Sprintf("%d requests to its model, with %d tokens in and %d out", m.Requests, m.InputTokens, m.OutputTokens)
	if m.Money != "" {
		text += ", for " + m.Money
	}
	return text
}

func usage(u *delegation.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	if u.PeakMemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MiB of memory at most", float64(u.PeakMemoryBytes)/(1<<20)))
	}
	if u.CPUSeconds > 0 {
		parts = append(parts, fmt.Sprintf("%.2f s of processor", u.CPUSeconds))
	}
	if u.OutputBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes of output", u.OutputBytes))
	}
	if m := u.Model; m != nil {
		parts = append(parts, spent(m))
	}
	return strings.Join(parts, ", ")
}
