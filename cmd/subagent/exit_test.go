package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/manager"
	"torno/manager/patch"
)

func TestExitCodeOfEveryEnd(t *testing.T) {
	for _, c := range []struct {
		reason delegation.Reason
		exit   int
		want   int
	}{
		{delegation.ReasonExited, 0, exitCompleted},
		{delegation.ReasonExited, 1, exitFailed},
		{delegation.ReasonSignalled, 137, exitFailed},
		{delegation.ReasonOutOfMemory, 137, exitFailed},
		{delegation.ReasonWorkspaceLimit, -1, exitFailed},
		{delegation.ReasonDeadline, -1, exitTimedOut},
		{delegation.ReasonCancelled, -1, exitCancelled},
		{delegation.ReasonOperator, -1, exitCancelled},
		{delegation.ReasonSuperseded, -1, exitCancelled},
		{delegation.ReasonClientGone, -1, exitCancelled},
		{delegation.ReasonShutdown, -1, exitCancelled},
		{delegation.ReasonRefused, -1, exitRefused},
		{delegation.ReasonLaunchFailed, -1, exitTrouble},
		{delegation.ReasonLost, -1, exitTrouble},
		{"of_tomorrow", 1, exitTrouble},
	} {
		r := manager.Result{Status: c.reason.Wire(c.exit), Reason: c.reason, ExitCode: c.exit}
		if got := exitCode(r); got != c.want {
			t.Errorf("%s %d: exit code %d, want %d", c.reason, c.exit, got, c.want)
		}
		if r.Ending() == "" {
			t.Errorf("%s is not described", c.reason)
		}
	}
}

func TestExitCodeWithoutReasons(t *testing.T) {
	for _, c := range []struct {
		status delegation.Status
		exit   int
		want   int
	}{
		{delegation.StatusCompleted, 0, exitCompleted},
		{delegation.StatusError, 2, exitFailed},
		{delegation.StatusError, -1, exitTrouble},
		{delegation.StatusTimeout, -1, exitTimedOut},
		{delegation.StatusCancelled, -1, exitCancelled},
	} {
		if got := exitCode(manager.Result{Status: c.status, ExitCode: c.exit}); got != c.want {
			t.Errorf("%s %d: exit code %d, want %d", c.status, c.exit, got, c.want)
		}
	}
	trap := manager.Result{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited, AnswerErr: errors.New("a link")}
	if got := exitCode(trap); got != exitTrouble {
		t.Errorf("an answer that was not read: exit code %d", got)
	}
}

func TestEveryTroubleHasANextStep(t *testing.T) {
	for _, c := range []struct {
		err  error
		exit int
		code string
	}{
		{&delegation.Refusal{Code: delegation.CodeProfile, Hint: "another"}, exitRefused, "profile"},
		{&manager.NobodyServingError{Outbox: "/o"}, exitNobody, "nobody_serving"},
		{&manager.NobodyServingError{Outbox: "/o", Cause: fs.ErrPermission}, exitTrouble, "permission"},
		{errNoOutbox, exitNobody, "no_outbox"},
		{delegation.ErrMoved, exitNobody, "outbox_moved"},
		{manager.ErrNoRun, exitTrouble, "no_run"},
		{manager.ErrOutstanding, exitTrouble, "outstanding"},
		{manager.ErrSuperseded, exitCancelled, "superseded"},
		{manager.ErrGone, exitTrouble, "gone"},
		{manager.ErrOverdue, exitTrouble, "overdue"},
		{fmt.Errorf("%w: %w", patch.ErrNoPlace, fs.ErrPermission), exitTrouble, "no_place"},
	} {
		got := diagnose(fmt.Errorf("wrapped: %w", c.err), t.TempDir())
		if got.Exit != c.exit || got.Code != c.code || got.Next == "" {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

// TestWhoMayUseAFile: of a file of the outbox that is said, with the owner's number; of another one nothing is guessed.
func TestWhoMayUseAFile(t *testing.T) {
	outbox := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(outbox, "request_a.json"): fmt.Sprint("run as the owner of the outbox, user ", os.Getuid()),
		"request_a.json":                        fmt.Sprint("run as the owner of the outbox, user ", os.Getuid()),
		"/src/secret":                           "",
	} {
		if got := diagnose(&fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}, outbox); got.Next != want {
			t.Errorf("%s: next: %q", path, got.Next)
		}
	}
}
