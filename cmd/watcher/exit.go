package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"torno/configs"
	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/journal"
	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/internal/programs"
	"torno/internal/serve"
	"torno/watcher"
)

// configError is the error of a configuration that does not load.
type configError struct {
	what string // a file, or the flags
	err  error
}

func (e *configError) Error() string { return e.err.Error() }

func (e *configError) Unwrap() error { return e.err }

func asConfigError(err error, what string) error {
	if err == nil {
		return nil
	}
	return &configError{what, err}
}

// diagnose finds the exit code, the code word and the next step for an error.
func diagnose(err error) cli.Trouble {
	t := cli.Trouble{Exit: exitFailure, Code: "failure", Text: err.Error()}
	if e, ok := errors.AsType[*configError](err); ok {
		t.Exit, t.Code, t.Next = exitUsage, "configuration", "watcher help run shows the flags, configs/examples/full.yaml every key"
		t.Text, t.Details = problems(e.what, e.err)
		return t
	}
	if e, ok := errors.AsType[*configs.Error](err); ok {
		t.Exit, t.Code, t.Next = exitUsage, "host", "mend it and look again with watcher check"
		_, t.Details = problems("", e)
		t.Text = "the configuration does not fit this machine:"
		return t
	}
	if e, ok := errors.AsType[*delegation.Refusal](err); ok {
		t.Code, t.Field, t.Next = string(e.Code), e.Field, e.Hint
		return t
	}
	if e, ok := errors.AsType[*lock.HeldError](err); ok {
		t.Code, t.Next = "held", fmt.Sprintf("stop that process, or serve another directory than %s; with --dir, --wait waits until it ends", e.Dir)
		return t
	}
	if e, ok := errors.AsType[*doctor.RefusedError](err); ok {
		t.Code, t.Next = "unfit", e.Next()
		if e.OfMachine() {
			t.Exit = exitNoLauncher
		}
		return t
	}
	if e, ok := errors.AsType[*serve.StrandedError](err); ok {
		t.Code, t.Next = "stranded", fmt.Sprintf("get %s to work once more, so that the watcher can follow these runs to their end; if it is gone for good, see State in docs/OPERATIONS.md", e.Launcher)
		return t
	}
	if e, ok := errors.AsType[*watcher.OwedError](err); ok {
		t.Exit, t.Code, t.Text, t.Next = exitOwed, "owed", e.Error(), "start the watcher again as before: it goes on with them; see When something fails in docs/OPERATIONS.md"
		return t
	}
	if errors.Is(err, serve.ErrBetween) {
		t.Exit, t.Code, t.Next = exitOwed, "owed", "start the watcher again as before: it goes on with them"
		return t
	}
	if errors.Is(err, watcher.ErrLeftBehind) {
		t.Exit, t.Code, t.Next = exitOwed, "left_behind", "start the watcher again when the file system or the launcher answers"
		return t
	}
	if code, next := noLauncher(err); code != "" {
		t.Exit, t.Code, t.Next = exitNoLauncher, code, next
		return t
	}
	if _, ok := errors.AsType[*programs.MissingError](err); ok {
		t.Code, t.Next = "no_init", "put sandbox-init beside the watcher, where only root and the watcher's user may write, or name it with the key init of the configuration"
		return t
	}
	for _, known := range troubles {
		if errors.Is(err, known.err) {
			t.Code, t.Next = known.code, known.next
			return t
		}
	}
	return t
}

// noLauncher returns the code word and the next step, if the error means that nothing can launch sandboxes on this
// machine. For other errors the code is "".
func noLauncher(err error) (code, next string) {
	if e, ok := errors.AsType[*serve.NoLauncherError](err); ok {
		return "no_launcher", strings.Join(e.Remedies, ", or ") + "; watcher doctor looks at each"
	}
	if e, ok := errors.AsType[*platformError](err); ok {
		return "platform", e.Next()
	}
	if e, ok := errors.AsType[*launcher.UnusableError](err); ok {
		return e.Code, e.Next
	}
	return "", ""
}

// problems returns a sentence, and a line for each mistake in the configuration.
func problems(what string, err error) (text string, details []string) {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return err.Error(), nil
	}
	for _, p := range e.Problems {
		details = append(details, p.String())
	}
	return what + " cannot be used:", details
}

// troubles lists errors that only need a code word and a next step.
var troubles = []struct {
	err  error
	code string
	next string
}{
	{control.ErrNoWatcher, "no_watcher", "start it with watcher run"},
	{errNoState, "no_state", "name another place with --state, --dir or --config"},
	{control.ErrNoRun, "no_run", "watcher ps -a lists the runs; name one by its subagent, OUTBOX/SUBAGENT or the beginning of its key"},
	{control.ErrAmbiguous, "ambiguous", "name it by OUTBOX/SUBAGENT or by more of its key"},
	{control.ErrNoQuestion, "no_approval", "watcher approvals shows the questions that wait; the question may have expired, or somebody else has decided it"},
	{control.ErrUndecided, "undecided", "watcher approvals shows the questions that wait now"},
	{control.ErrStranded, "stranded", "bring that site back (a Docker engine or a state directory), or give the run up with watcher cancel --abandon"},
	{control.ErrNotStranded, "not_stranded", "use watcher cancel without --abandon"},
	{control.ErrUntaken, "untaken", "try again in a moment; the log says why the watcher waits, or that the next start looks again"},
	{control.ErrEnded, "ended", "watcher show shows how it ended"},
	{control.ErrNoEvents, "no_events", "watcher logs --raw shows the ends of its output"},
	{control.ErrReaders, "readers", "end one of them, or use watcher logs --raw"},
	{control.ErrNoOutbox, "no_outbox", "watcher check shows the outboxes of the configuration"},
	{control.ErrNoBudget, "no_budget", "watcher budget shows the budgets of outboxes; a subagent has a budget only if its profile bounds it"},
	{control.ErrNoRoutes, "no_routes", "docs/GATEWAY.md shows how to give children a model"},
	{control.ErrNoReload, "no_reload", "restart it, or start it with --config"},
	{control.ErrAsked, "not_asked", "watcher ps says which outbox waits for a decision"},
	{fs.ErrPermission, "permission", "run it as the user of the watcher, or as root"},
	{journal.ErrOlder, "older_journal", "start the watcher of this version once: it brings the journal up to date"},
}
