package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a Service whose answers are set by the test.
type desk struct {
	run  Run
	err  error
	said []Output
	seen Query
	ref  string
	as   Identity

	questions []Question
	decided   Decision
	revoked   Revocation
	collected Collect

	events []EventLine
	wanted EventQuery
}

func (d *desk) Status(context.Context) (Status, error) {
	return Status{Version: "v1", PID: 7, Outboxes: []OutboxStatus{{Name: "main"}}}, d.err
}

func (d *desk) Runs(_ context.Context, q Query) ([]Run, error) {
	d.seen = q
	return []Run{d.run}, d.err
}

func (d *desk) Run(_ context.Context, ref string) (Run, error) { d.ref = ref; return d.run, d.err }

func (d *desk) Accept(_ context.Context, outbox string, as Identity) (Accepted, error) {
	d.ref, d.as = outbox, as
	return Accepted{Name: outbox, ID: "0123456789abcdef", Dir: "/srv/box", As: as}, d.err
}

func (d *desk) Approvals(context.Context) ([]Question, error) { return d.questions, d.err }

func (d *desk) Decide(_ context.Context, ref string, by Decision) (Question, error) {
	d.ref, d.decided = ref, by
	return Question{}, d.err
}

func (d *desk) Revoke(_ context.Context, ref string, r Revocation) (Revoked, error) {
	d.ref, d.revoked = ref, r
	return Revoked{Pending: 2}, d.err
}

func (d *desk) Cancel(_ context.Context, ref string) (Run, error) { d.ref = ref; return d.run, d.err }

func (d *desk) Reload(context.Context) (Reload, error) { return Reload{Number: 1}, d.err }
func (d *desk) Collect(_ context.Context, ask Collect) ([]Workspace, error) {
	d.collected = ask
	return []Workspace{{Outbox: "main", Subagent: "s1", Over: "too old", Removed: true}}, d.err
}

func (d *desk) Budgets(context.Context) (Budgets, error) {
	return Budgets{Budgets: []Budget{{BudgetOf{Kind: Tree, Outbox: "main"}, &delegation.ModelUsage{Requests: 1}}}, Clock: &calendar.Doubt{Left: time.Hour}}, d.err
}

func (d *desk) ResetBudget(_ context.Context, of BudgetOf) (Budget, error) {
	return Budget{of, &delegation.ModelUsage{Requests: 2}}, d.err
}

func (d *desk) Reloaded(context.Context, int) (Reload, error) { return Reload{Number: 1}, d.err }

func (d *desk) Abandon(_ context.Context, ref string) (Run, error) { d.ref = ref; return d.run, d.err }

func (d *desk) Output(_ context.Context, ref string, _ bool, emit func(Output) error) error {
	d.ref = ref
	for _, o := range d.said {
		if err := emit(o); err != nil {
			return err
		}
	}
	return d.err
}

func (d *desk) Events(_ context.Context, ref string, q EventQuery, emit func(EventLine) error) error {
	d.ref, d.wanted = ref, q
	for _, l := range d.events {
		if err := emit(l); err != nil {
			return err
		}
	}
	return d.err
}

// open serves a desk on a state directory whose path is longer than a socket's may be.
func open(t *testing.T, d *desk) (*Client, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, dir, d, nil, slog.New(slog.DiscardHandler)) }()
	client := Dial(dir)
	t.Cleanup(func() {
		client.watcher.Close()
		stop()
		if err := <-done; err != nil {
			t.Error("the door ended with", err)
		}
		if _, err := os.Lstat(filepath.Join(dir, SocketName)); !os.IsNotExist(err) {
			t.Error("the socket is left:", err)
		}
	})
	return client, dir
}

func TestTheDoor(t *testing.T) {
	d := &desk{run: Run{Key: "k1", Subagent: "s1"}, said: []Output{{Stream: sandbox.Stdout, Bytes: []byte("a\x00\xff")}, {Gap: true}}}
	client, _ := open(t, d)
	ctx := t.Context()
	if s, err := client.Status(ctx); err != nil || s.PID != 7 || s.Outboxes[0].Name != "main" {
		t.Errorf("Status is %+v, %v", s, err)
	}
	want := Query{All: true, Outbox: "a&b c", Limit: 7}
	if runs, err := client.Runs(ctx, want); err != nil || len(runs) != 1 || runs[0].Key != "k1" || d.seen != want {
		t.Errorf("Runs is %+v, %v for %+v", runs, err, d.seen)
	}
	for _, ref := range []string{"s1", "main/s1", "a b?c#d%2f", "ü", "a/../b", "main/..", "//."} {
		if r, err := client.Run(ctx, ref); err != nil || r.Subagent != "s1" || d.ref != ref {
			t.Errorf("Run(%q) is %+v, %v and asked for %q", ref, r, err, d.ref)
		}
		if _, err := client.Cancel(ctx, ref); err != nil || d.ref != ref {
			t.Errorf("Cancel(%q): %v, asked for %q", ref, err, d.ref)
		}
		if a, err := client.Accept(ctx, ref, New); err != nil || d.ref != ref || d.as != New || a.Name != ref {
			t.Errorf("Accept(%q): %+v, %v, asked for %q as %q", ref, a, err, d.ref, d.as)
		}
	}
	if all, err := client.Budgets(ctx); err != nil || len(all.Budgets) != 1 || all.Budgets[0].Spent.Requests != 1 || all.Clock == nil || all.Clock.Left != time.Hour {
		t.Errorf("Budgets is %+v, %v", all, err)
	}
	of := BudgetOf{Kind: Subagent, Outbox: "a&b c", Subagent: "s1"}
	if was, err := client.ResetBudget(ctx, of); err != nil || was.BudgetOf != of || was.Spent.Requests != 2 {
		t.Errorf("ResetBudget is %+v, %v", was, err)
	}
	var heard []Output
	err := client.Output(ctx, "s1", true, func(o Output) error { heard = append(heard, o); return nil })
	if err != nil || len(heard) != 2 || string(heard[0].Bytes) != "a\x00\xff" || !heard[1].Gap {
		t.Errorf("Output is %+v, %v", heard, err)
	}
}

func TestFailuresKeepTheirTypeAndText(t *testing.T) {
	d := &desk{}
	client, _ := open(t, d)
	for _, known := range []error{ErrNoRun, ErrAmbiguous, ErrEnded, ErrNoOutbox, ErrNoBudget, ErrNoRoutes, ErrAsked, errors.New("boom")} {
		d.err = fmt.Errorf("%w: %q", known, "s1")
		_, err := client.Run(t.Context(), "s1")
		if err == nil || err.Error() != d.err.Error() {
			t.Errorf("%v came back as %v", d.err, err)
		}
		for _, other := range failures {
			if errors.Is(err, other.Err) != errors.Is(d.err, other.Err) {
				t.Errorf("%v came back as %v: is it %v?", d.err, err, other.Err)
			}
		}
		if err := client.Output(t.Context(), "s1", false, nil); err == nil || err.Error() != d.err.Error() {
			t.Errorf("Output came back with %v", err)
		}
	}
}

func TestOutputThatBreaksOffDoesNotEndWell(t *testing.T) {
	d := &desk{said: []Output{{Bytes: []byte("half")}}, err: errors.New("boom")}
	client, _ := open(t, d)
	heard := 0
	err := client.Output(t.Context(), "s1", true, func(Output) error { heard++; return nil })
	if err == nil || !strings.Contains(err.Error(), "broke off") || heard != 1 {
		t.Errorf("%d pieces, then %v", heard, err)
	}
}

func TestNobodyIsThere(t *testing.T) {
	client, dir := open(t, &desk{})
	dead := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dead, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	for what, state := range map[string]string{"no directory": filepath.Join(dir, "none"), "no socket": t.TempDir(), "a dead socket": dead} {
		if _, err := Dial(state).Status(t.Context()); !errors.Is(err, ErrNoWatcher) || !strings.Contains(err.Error(), state) || strings.Contains(err.Error(), "/proc/") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := client.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheOwnerMayKnock(t *testing.T) {
	_, dir := open(t, &desk{})
	info, err := os.Lstat(filepath.Join(dir, SocketName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
}

func TestADeadSocketIsReplaced(t *testing.T) {
	_, dir := open(t, &desk{})
	again, err := Listen(dir)
	if err != nil {
		t.Fatal("a socket is in the way:", err)
	}
	again.Close()
}

// TestQuestions: what an operator says about one arrives as it was said.
func TestQuestions(t *testing.T) {
	d := &desk{questions: []Question{{Key: "k", Outbox: "main", Subagent: "s1", PendingApproval: delegation.PendingApproval{Approval: 3, Digest: "d", Tool: "Bash"}}}}
	client, _ := open(t, d)
	ctx := context.Background()
	if all, err := client.Approvals(ctx); err != nil || len(all) != 1 || all[0].Approval != 3 || all[0].Key != "k" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, by := range []Decision{{Approval: 3, Digest: "d", Grant: true, Always: true}, {Approval: 4, Digest: "e&f", Why: "no & never"}} {
		if _, err := client.Decide(ctx, "main/../s1", by); err != nil || d.decided != by || d.ref != "main/../s1" {
			t.Errorf("%+v of %q, %v", d.decided, d.ref, err)
		}
	}
	r := Revocation{Why: "it is enough now", End: true}
	if revoked, err := client.Revoke(ctx, "s1", r); err != nil || revoked.Pending != 2 || d.revoked != r {
		t.Errorf("%+v, %v", d.revoked, err)
	}
	d.err = fmt.Errorf("%w: %w", ErrUndecided, errors.New("it has expired"))
	if _, err := client.Decide(ctx, "s1", Decision{}); !errors.Is(err, ErrUndecided) || !strings.Contains(err.Error(), "it has expired") {
		t.Error(err)
	}
}
