//go:build linux

package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
	"torno/internal/beneath"
	"torno/internal/massgen/remains"
)

// prepareFiles begins to follow the files of an agent that reports its work in files, and sets the place of its answer.
func (r *run) prepareFiles(task string) (err error) {
	m := r.kind.files
	if m == nil {
		return nil
	}
	if m.output = r.answer; m.output == "" {
		dir, err := os.MkdirTemp("", "torno-agent-")
		if err != nil {
			return err
		}
		m.output = filepath.Join(dir, "answer.txt")
	}
	if m.output, err = filepath.Abs(m.output); err != nil {
		return err
	}
	m.config, m.task = r.config, task
	m.stale, _ = os.Lstat(m.output) // without an old file nothing is stale
	r.beside = &beside{m: m}
	return r.beside.begin(r.out.tell, r.acknowledge)
}

// endFiles reports the rest of the files, and how the run ended.
func (r *run) endFiles(end unix.WaitStatus) {
	m := r.kind.files
	if m == nil {
		return
	}
	r.beside.end()
	defer r.beside.root.Close()
	r.out.tell(m.spends())
	answer, there := m.answer()
	switch {
	case end.Exited() && end.ExitStatus() == 0 && (m.understood || there):
		r.answered(answer, there)
	default:
		why := r.whyFailed(end)
		if timeIsUp(end) {
			why += r.salvage(answer, there)
		}
		m.text = why + r.lostSession()
		r.out.tell(m.result(m.text, true))
	}
}

// answered reports the end of a MassGen that has done its work. Without an answer file the answer is its last words, or
// nothing.
func (r *run) answered(answer string, there bool) {
	m := r.kind.files
	if there {
		r.answer = "" // MassGen has written it itself
	} else {
		answer = m.final
		r.out.tell(notice("it wrote no answer; its last words count as the answer"))
	}
	r.out.tell(m.result(answer, false))
}

// maxAnswer bounds how much of an answer is reported, in bytes. The file has all of it.
const maxAnswer = 1 << 20

// answer returns the text that MassGen has written into its answer file in this run.
func (m *massgen) answer() (text string, there bool) {
	dir, err := openRoot(filepath.Dir(m.output))
	if err != nil {
		return "", false
	}
	defer dir.Close()
	file, info, err := beneath.OpenFile(dir, filepath.Base(m.output))
	if err != nil {
		return "", false
	}
	defer file.Close()
	if m.stale != nil && os.SameFile(m.stale, info) && m.stale.Size() == info.Size() && m.stale.ModTime().Equal(info.ModTime()) {
		return "", false
	}
	data, _, err := beneath.ReadUpTo(file, maxAnswer)
	return strings.TrimSpace(valid(string(data))), err == nil
}

// These are exit codes of MassGen.
const (
	massgenConfig  = 1
	massgenWork    = 2
	massgenTime    = 3
	massgenStopped = 4
)

// timeIsUp reports whether MassGen was ended, or ended itself, before it had done its work. Then an unfinished answer
// counts.
func timeIsUp(end unix.WaitStatus) bool {
	return end.Signaled() || slices.Contains([]int{massgenTime, massgenStopped}, end.ExitStatus()) || end.ExitStatus() > 128
}

// whyFailed explains why MassGen failed, and says how to go on.
func (r *run) whyFailed(end unix.WaitStatus) string {
	m, code := r.kind.files, end.ExitStatus()
	const stderr = "its standard error says why"
	var why string
	switch {
	case end.Signaled() || code > 128:
		how := fmt.Sprintf("exit code %d", code)
		if end.Signaled() {
			how = unix.SignalName(end.Signal())
		}
		why = "massgen was stopped (" + how + ") before it finished its work"
		if !m.understood {
			why += " and before it wrote anything: see whether it reaches its model, and read its standard error"
		}
	case code == massgenTime:
		why = "massgen's own time was up (exit code 3): give it more time in the run configuration (timeout_settings), or ask for less"
	case code == massgenStopped:
		why = "massgen was interrupted (exit code 4)"
	case code == massgenConfig:
		why = "massgen refuses its run configuration (exit code 1), which is the request's yaml_config and the sandbox's additions; " + stderr
	case !m.understood && code == massgenWork:
		why = "massgen ended before it had written anything (exit code 2): see whether the program is " + r.kind.title + ", and not an older one without these arguments; " + stderr
	case !m.understood:
		return r.withoutResult(end)
	case code == massgenWork:
		why = "massgen failed in its work (exit code 2); " + stderr
	default:
		why = fmt.Sprintf("massgen failed (exit code %d); %s", code, stderr)
	}
	if m.trouble != "" {
		why += "; its last trouble was: " + m.trouble
	}
	return why
}

// salvage keeps the answer that MassGen had when its time was up. It chooses that answer as MassGen itself would. It
// returns a text about it for the result.
func (r *run) salvage(answer string, there bool) string {
	saved := remains.Saved{}
	if dir, err := os.Getwd(); err == nil {
		saved = remains.Recover(remains.Places{Workspace: r.beside.root, WorkspacePath: dir, Since: r.beside.begun.Add(-clockGrain)})
	}
	written := there && answer != ""
	if written {
		saved.Answer = &answer
	}
	if saved.Answer == nil {
		return "; no answer of it was found"
	}
	how := "partial: no winner was chosen"
	if saved.Presenting || saved.Winner != "" {
		how = "complete: its winner was chosen"
	}
	r.out.tell(tell(agent.Line{Kind: agent.Text, Text: *saved.Answer}))
	if r.answer == "" || written {
		return "; it had an answer (" + how + ")"
	}
	if err := writeAnswer(r.answer, *saved.Answer); err != nil {
		return fmt.Sprintf("; it had an answer (%s), but that answer was not written to %q: %v", how, r.answer, err)
	}
	return "; it had an answer (" + how + "), which is kept as its answer"
}

// clockGrain is how much earlier a file's time can be than the moment in which the file was written.
const clockGrain = time.Second
