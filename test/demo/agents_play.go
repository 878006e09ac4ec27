package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
)

// The agents' names.
const (
	parentName = "parent"
	codexName  = "cody"
	claudeName = "clara"
)

// The file of the parent's project, before and after.
const (
	firstLine  = "The parent wrote this.\n"
	secondLine = "Codex wrote this in a sandbox.\n"
)

// ours is how Claude Code calls our tools, before each one's own name.
const ours = "mcp__torno__"

// lookAround is the command by which the parent shows how it is shut in.
const lookAround = `env; sed 1d /proc/net/route | cut -f1 | grep -vx lo | sed 's/^/route: /'; echo looked around`

// lastWord is the parent's answer.
const lastWord = "Both have answered, and one's work is taken over."

// script is what the stand-in has the parent's model do, a line for each answer.
func (d *delegating) script() []string {
	write := fmt.Sprintf(`#tool exec_command {"cmd":%q}`, "echo '"+strings.TrimSpace(secondLine)+"' >>notes.txt; wc -l notes.txt")
	count := `#tool Bash {"command":"env; expr 6 \\* 7","description":"counts"}`
	step := func(tool string, arguments any) string { return "#tool " + ours + tool + " " + inJSON(arguments) }
	type object = map[string]any
	return []string{
		"#tool Bash " + inJSON(object{"command": lookAround, "description": "looks around"}),
		step("status", object{}),
		step("delegate", object{"tasks": []object{
			{"id": codexName, "task": write, "profile": "codex", "copy": filepath.Join(d.desk, "project")},
			{"id": claudeName, "task": count, "profile": "claude"},
		}}),
		step("wait", object{"ids": []string{codexName, claudeName}, "until": "all", "seconds": 18}),
		step("wait", object{"ids": []string{codexName, claudeName}, "until": "all", "seconds": 18}), // a slow machine takes longer than one wait
		step("read", object{"id": codexName, "what": "diff"}),
		step("apply", object{"id": codexName}),
		lastWord,
	}
}

// delegate has the parent do its work, tells what it does, and checks how it ends.
func (d *delegating) delegate(ctx context.Context) error {
	d.head("Step by step")
	m, err := manager.New(d.operator.outbox, manager.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	begin := time.Now()
	run, err := m.Spawn(ctx, manager.SpawnOptions{
		ID: parentName, Workspace: d.desk, Timeout: 2 * time.Minute, Task: "#steps\n" + strings.Join(d.script(), "\n"),
	})
	if err != nil {
		return err
	}
	d.step(begin, "operator", "asks for %s: Claude Code in a sandbox, with the tools of subagent mcp", parentName)
	var failed error
	for event, err := range run.Events(ctx, 1, true) {
		if err != nil {
			return err
		}
		failed = errors.Join(failed, d.tell(begin, event))
	}
	result, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	answer := strings.TrimSpace(result.Answer)
	if result.Status != delegation.StatusCompleted || !strings.HasSuffix(answer, lastWord) {
		return errors.Join(failed, fmt.Errorf("the parent had to complete with %q, and ended with %s, %s, %q %s %s", lastWord, result.Status, result.Reason, answer, result.StderrTail, result.StdoutTail))
	}
	if !d.told[shut] {
		failed = errors.Join(failed, errors.New("the parent has a way out, or has not looked for one"))
	}
	d.step(begin, parentName, "answers %q", answer)
	return errors.Join(failed, run.Acknowledge(result))
}

func (d *delegating) step(begin time.Time, who, format string, args ...any) {
	d.say("  %9s  %-10s %s", ms(time.Since(begin)), who, fmt.Sprintf(format, args...))
}

// tell shows a call of a tool by the parent, or what came of it, which must be good.
func (d *delegating) tell(begin time.Time, event delegation.Event) error {
	switch event.Type {
	case delegation.EventToolCall:
		d.step(begin, parentName, "%s", called(event.Tool.Name, event.Tool.Input))
	case delegation.EventToolResult:
		if event.Failed {
			return fmt.Errorf("a tool of the parent's failed: %s", event.Text)
		}
		if strings.Contains(event.Text, d.key) {
			return errors.New("the key of the models is in a sandbox")
		}
		for _, line := range brought(event.Text) {
			if !d.told[line] { // a second wait brings the same
				d.step(begin, "", "  → %s", line)
			}
			d.told[line] = true
		}
	}
	return nil
}

// called is a call of a tool in a few words.
func called(tool string, input json.RawMessage) string {
	var given struct {
		ID    string
		IDs   []string
		What  string
		Tasks []struct{ ID, Profile string }
	}
	_ = json.Unmarshal(input, &given) // the words of a call that is too long are left out
	words := append([]string{strings.TrimPrefix(tool, ours), given.ID, given.What}, given.IDs...)
	for _, t := range given.Tasks {
		words = append(words, t.ID+" ("+t.Profile+")")
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// result is what is shown of what our tools bring.
type result struct {
	Host *struct {
		Profiles []struct{ Name, Agent string }
	}
	Subagents []struct{ ID string }
	Ended     json.RawMessage // a list from wait, and from read a word
	Waiting   []struct{ ID string }
	Text      string `json:"untrusted_text"`
	Written   *int
}

// brought are the lines that are worth showing of what a tool brought.
func brought(text string) (lines []string) {
	var r result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return around(text)
	}
	if r.Host != nil {
		for _, p := range r.Host.Profiles {
			lines = append(lines, fmt.Sprintf("may have %s as a child", p.Name))
		}
		return lines
	}
	for _, s := range r.Subagents {
		lines = append(lines, s.ID+" has been asked for")
	}
	var ended []struct {
		ID, How string
		Answer  string `json:"untrusted_answer"`
	}
	_ = json.Unmarshal(r.Ended, &ended) // read has a word there
	for _, e := range ended {
		answer := strings.Split(strings.TrimSpace(e.Answer), "\n")
		lines = append(lines, fmt.Sprintf("%s %s; the end of its answer: %q", e.ID, e.How, answer[len(answer)-1]))
	}
	for _, w := range r.Waiting {
		lines = append(lines, w.ID+" still works")
	}
	for line := range strings.Lines(r.Text) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			lines = append(lines, fmt.Sprintf("%.60q", strings.TrimSpace(line)))
		}
	}
	if r.Written != nil {
		lines = append(lines, fmt.Sprintf("files written: %d", *r.Written))
	}
	return lines
}

// wayOut is the beginning of a line of what the parent's own command prints, and of what is shown of it.
const wayOut = "route: "

// shut is what is shown of a parent that has no way out.
const shut = "no way out of its sandbox, and no key in its environment"

// around are the ways out that the parent's own command has found.
func around(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, wayOut) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 && strings.Contains(text, "looked around") {
		lines = []string{shut}
	}
	return lines
}

// inJSON encodes strings and maps of them.
func inJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return string(data)
}
