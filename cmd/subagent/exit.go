package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/paths"
	"torno/manager"
	"torno/manager/patch"
)

// These are the exit codes. They are API.
const (
	exitCompleted = iota
	exitFailed
	exitUsage
	exitTimedOut
	exitCancelled
	exitRefused
	exitNobody
	exitTrouble
)

// exitCodes explains the exit codes, in order.
var exitCodes = []string{
	"the child completed, or the command did its work",
	"the child failed: it exited with a code other than 0, was killed, or used up its memory",
	"a mistake in the arguments",
	"the child timed out",
	"the child was cancelled",
	"the request was refused, or files or changes of the child were refused or left out",
	"no watcher serves the outbox",
	"other trouble: the sandbox did not start, the run was lost, the result is not readable, changes do not fit",
}

// exitCode turns a run's end into an exit code.
func exitCode(r manager.Result) int {
	switch {
	case r.Completed() && r.AnswerErr == nil:
		return exitCompleted
	case r.Status == delegation.StatusTimeout:
		return exitTimedOut
	case r.Status == delegation.StatusCancelled:
		return exitCancelled
	case r.Refused():
		return exitRefused
	}
	switch r.Reason {
	case delegation.ReasonExited, delegation.ReasonSignalled, delegation.ReasonOutOfMemory, delegation.ReasonWorkspaceLimit,
		delegation.ReasonBudget:
		if !r.Completed() {
			return exitFailed
		}
	case "": // a watcher without reasons reports -1 for a child that never ran
		if r.Status == delegation.StatusError && r.ExitCode != -1 {
			return exitFailed
		}
	}
	return exitTrouble
}

// errNoOutbox means that the outbox does not exist.
var errNoOutbox = errors.New("there is no outbox")

// nextForPermission returns the next step after a permission error. It names the outbox's owner, unless the forbidden
// file lies outside the outbox.
func nextForPermission(err error, outbox string) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok && filepath.IsAbs(e.Path) && !paths.Within(outbox, e.Path) {
		return ""
	}
	next := "run as the owner of the outbox"
	if info, err := os.Stat(outbox); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			next += fmt.Sprintf(", user %d", stat.Uid)
		}
	}
	return next
}

// diagnose turns an error into an exit code, a sentence and a next step. outbox is the outbox's absolute path.
func diagnose(err error, outbox string) cli.Trouble {
	t := cli.Trouble{Exit: exitTrouble, Code: "trouble", Text: err.Error()}
	if e, ok := errors.AsType[*delegation.Refusal](err); ok {
		t.Exit, t.Code, t.Field, t.Next = exitRefused, string(e.Code), e.Field, e.Hint
		if e.Code == delegation.CodeBadID && t.Next == "" {
			t.Next = "an id has at most 128 letters, digits, dots, underscores and hyphens, and begins with a letter or a digit"
		}
		return t
	}
	if e, ok := errors.AsType[*manager.TakenError](err); ok {
		t.Code, t.Next = "taken", fmt.Sprintf("subagent wait --again %s prints the result again, for a day", e.SubagentID)
		return t
	}
	for _, known := range troubles {
		if errors.Is(err, known.err) {
			t.Exit, t.Code, t.Next = known.exit, known.code, known.next
			if known.code == "permission" {
				t.Next = nextForPermission(err, outbox)
			}
			return t
		}
	}
	return t
}

// troubles lists the errors that have a next step. The first match counts.
var troubles = []struct {
	err  error
	exit int
	code string
	next string
}{
	{errNotDelivered, exitTrouble, "not_delivered", "subagent wait prints it again"},
	{errWithdrawn, exitCancelled, "withdrawn", "the host ends the child; its files are in its workspace"},
	{patch.ErrNoPlace, exitTrouble, "no_place", "set XDG_STATE_HOME to a directory that this user may write, outside the outbox"},
	{fs.ErrPermission, exitTrouble, "permission", ""}, // its next step depends on the file
	{errNoOutbox, exitNobody, "no_outbox", "name the directory that is shared with the host: --outbox DIR or TORNO_OUTBOX"},
	{
		manager.ErrNobodyServing, exitNobody, "nobody_serving",
		"on the host, start `watcher run --dir DIR`, where DIR is this outbox as the host sees it",
	},
	{manager.ErrNoRun, exitTrouble, "no_run", "subagent list shows the runs whose result was not taken"},
	{manager.ErrRunning, exitTrouble, "running", "wait for its end with subagent wait, or end it with subagent cancel; its conversation until then is kept"},
	{manager.ErrOutstanding, exitTrouble, "outstanding", "take its result with subagent wait, or spawn with --replace"},
	{manager.ErrSuperseded, exitCancelled, "superseded", "subagent wait takes the result of the later request"},
	{manager.ErrGone, exitTrouble, "gone", "spawn again if the result is still needed"},
	{manager.ErrOver, exitTrouble, "over", "take its result with subagent wait; for more work, subagent continue or spawn"},
	{manager.ErrNoApproval, exitTrouble, "no_approval", "subagent list --json shows the questions that wait; the question may have expired, or somebody else has decided it"},
	{manager.ErrNotYet, exitTrouble, "not_yet", "it stays in the outbox, and the agent gets it when it can; subagent logs shows when"},
	{manager.ErrOverdue, exitTrouble, "overdue", "the client has cancelled the run; subagent wait waits for its end"},
	{errUnsafe, exitRefused, "unsafe", "leave these out with --without PATH, and copy the files that you need with subagent get"},
	{errSelfRunning, exitRefused, "runs_by_itself", "look at them with subagent diff ID PATH; then apply with --allow PATH for each, with --allow-autorun for all, or --without PATH"},
	{errDeletesMost, exitRefused, "deletes_most", "look at the workspace; then apply with --allow-deletions, or leave paths out with --without PATH"},
	{errConflict, exitTrouble, "conflict", "leave these out with --without PATH, and merge them by hand"},
	{errUnfinished, exitTrouble, "unfinished", "subagent wait ID waits for its end; apply --unfinished takes the changes so far"},
	{manager.ErrWorkspaceThere, exitTrouble, "workspace_there", "give the new child another --id, or leave out --copy to go on in its workspace"},
	{patch.ErrNoBase, exitTrouble, "no_base", "subagent get copies its files; to compare files, spawn a child with --copy DIR"},
	{patch.ErrOtherOrigin, exitTrouble, "other_origin", "name the directory to write to with --to DIR"},
	{patch.ErrBusy, exitTrouble, "busy", "give the same command again when the other apply has ended"},
	{patch.ErrChanging, exitTrouble, "changing", "wait for the child's end: subagent wait ID"},
	{patch.ErrRules, exitTrouble, "rules_unknown", "mend the repository; or treat ignored files like all others: spawn --copy-ignored, diff and apply --ignored"},
	{patch.ErrTooMuch, exitTrouble, "too_much", "name the paths that matter, or leave some out with --without PATH"},
	{delegation.ErrMoved, exitNobody, "outbox_moved", "open the outbox again under its present path"},
	{context.Canceled, exitTrouble, "interrupted", "the child goes on; subagent wait takes its result"},
}
