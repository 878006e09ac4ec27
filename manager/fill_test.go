package manager

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"torno/delegation"
)

// A workspace is filled before its request is there, and a failure leaves neither.
func TestAWorkspaceIsFilledBeforeItsRequest(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	fill := func(_ context.Context, w NewWorkspace) error {
		if _, err := os.Lstat(h.join("request_s1.json")); err == nil {
			t.Error("the request is there already")
		}
		if w.SubagentID != "s1" || w.Path != h.join("workspaces/s1") || w.Answer != "answer.txt" {
			t.Errorf("it is told of %+v", w)
		}
		return w.Root.WriteFile("a", []byte("a"), 0o644)
	}
	failed := errors.New("failed")
	_, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true", Fill: func(ctx context.Context, w NewWorkspace) error {
		return errors.Join(fill(ctx, w), failed)
	}})
	if _, there := os.Lstat(h.join("workspaces/s1")); !errors.Is(err, failed) || there == nil {
		t.Errorf("%v, and the workspace is %v", err, there)
	}
	h.spawn(m, SpawnOptions{ID: "s1", Fill: fill})
	if data, err := os.ReadFile(h.join("workspaces/s1/a")); string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
	root, path, err := m.OpenWorkspace("s1")
	if err != nil || path != h.join("workspaces/s1") {
		t.Fatal(path, err)
	}
	defer root.Close()
	must(0, os.WriteFile(h.join("response_s1.json"), []byte("{}"), 0o644))
	if _, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true", Fill: fill, Replace: true}); !errors.Is(err, ErrWorkspaceThere) {
		t.Error(err)
	}
	if _, err := os.Lstat(h.join("response_s1.json")); err != nil {
		t.Error("the earlier run's response is gone:", err)
	}
	_, err = m.Spawn(t.Context(), SpawnOptions{ID: "s2", Task: "true", Fill: fill, Workspace: h.path})
	if refusal, ok := errors.AsType[*delegation.Refusal](err); !ok || refusal.Field != "workspace" {
		t.Error(err)
	}
	for _, id := range []string{"../s1", "s9"} {
		if root, _, err := m.OpenWorkspace(id); err == nil {
			root.Close()
			t.Errorf("%s has a workspace", id)
		}
	}
}

// A workspace that was exchanged for a link is not opened.
func TestAWorkspaceThatIsALinkIsNotOpened(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	must(0, os.Remove(run.Workspace()))
	must(0, os.Symlink(t.TempDir(), run.Workspace()))
	if root, _, err := m.OpenWorkspace("s1"); err == nil {
		root.Close()
		t.Error("it was opened")
	}
}

// The caller is told of a workspace that is new and is not filled, and only of such a one.
func TestTheCallerIsToldOfANewWorkspace(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	told := 0
	made := func(id string) error {
		told++
		if _, err := os.Lstat(h.join("request_" + id + ".json")); err == nil {
			t.Error("the request is there already")
		}
		return nil
	}
	h.spawn(m, SpawnOptions{ID: "s1", Made: made})
	must(0, os.Remove(h.join("request_s1.json")))
	h.spawn(m, SpawnOptions{ID: "s1", Made: made})
	h.spawn(m, SpawnOptions{ID: "s2", Made: made, Fill: func(context.Context, NewWorkspace) error { return nil }})
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
	failed := errors.New("failed")
	_, err := m.Spawn(t.Context(), SpawnOptions{ID: "s3", Task: "true", Made: func(string) error { return failed }})
	if _, there := os.Lstat(h.join("workspaces/s3")); !errors.Is(err, failed) || there == nil {
		t.Errorf("%v, and the workspace is %v", err, there)
	}
}

// A workspace that is being filled is no workspace yet: a client that asks for the same subagent meanwhile gets one of its own, and the one
// that fills takes neither the other's request nor its workspace.
func TestNoClientTakesAWorkspaceThatIsBeingFilled(t *testing.T) {
	h := newHost(t)
	one, two := h.client(Options{}), h.client(Options{})
	var other *Run
	_, err := one.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "copied", Fill: func(_ context.Context, w NewWorkspace) error {
		must(0, w.Root.WriteFile("half", nil, 0o644))
		other = h.spawn(two, SpawnOptions{ID: "s1", Task: "plain"})
		must(0, w.Root.WriteFile("whole", nil, 0o644))
		return nil
	}})
	if !errors.Is(err, ErrWorkspaceThere) {
		t.Error(err)
	}
	if got := h.request("s1"); got.Task != "plain" || got.RequestID.String() != other.RequestID() {
		t.Errorf("the request is %+v", got)
	}
	if left := must(os.ReadDir(other.Workspace())); len(left) > 0 {
		t.Errorf("the other's workspace has %v", left)
	}
	if left := must(os.ReadDir(h.join(Workspaces))); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// Of two clients that copy for one subagent, one does.
func TestOneClientFillsAWorkspace(t *testing.T) {
	h := newHost(t)
	one, two := h.client(Options{}), h.client(Options{})
	never := func(context.Context, NewWorkspace) error {
		t.Error("it fills too")
		return nil
	}
	run := h.spawn(one, SpawnOptions{ID: "s1", Task: "first", Fill: func(ctx context.Context, w NewWorkspace) error {
		_, err := two.Spawn(ctx, SpawnOptions{ID: "s1", Task: "second", Fill: never})
		if !errors.Is(err, ErrWorkspaceThere) {
			t.Error(err)
		}
		return w.Root.WriteFile("a", nil, 0o644)
	}})
	if err := run.fill(t.Context(), never); !errors.Is(err, ErrWorkspaceThere) { // by another client that began to look before the first had ended
		t.Error(err)
	}
	if left := must(os.ReadDir(h.join(Workspaces))); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
	if _, err := os.Stat(h.join("workspaces/s1/a")); err != nil || h.request("s1").Task != "first" {
		t.Errorf("%v, %+v", err, h.request("s1"))
	}
}

// Of two clients that ask for one subagent at once, one gets it, and its workspace stays.
func TestOneRequestOfASubagent(t *testing.T) {
	h := newHost(t)
	one, two := h.client(Options{}), h.client(Options{})
	_, err := one.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "late", Made: func(string) error {
		h.spawn(two, SpawnOptions{ID: "s1", Task: "early"})
		return nil
	}})
	if !errors.Is(err, ErrOutstanding) || h.request("s1").Task != "early" {
		t.Errorf("%v, %+v", err, h.request("s1"))
	}
	if _, err := os.Stat(h.join("workspaces/s1")); err != nil {
		t.Error(err)
	}
	_, err = one.Spawn(t.Context(), SpawnOptions{ID: "s2", Task: "late", Made: func(string) error {
		h.spawn(two, SpawnOptions{ID: "s2", Task: "early"})
		return errors.New("failed")
	}})
	if _, there := os.Stat(h.join("workspaces/s2")); err == nil || there != nil {
		t.Errorf("%v, and the workspace of the other: %v", err, there)
	}
}

// A client that is killed while it fills a workspace leaves a directory, which goes with the first copy a day later.
func TestAKilledClientsWorkspaceIsSwept(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	fill := func(context.Context, NewWorkspace) error { return nil }
	left := h.join(Workspaces + "/" + fillingPrefix + "s1")
	write(t, left+"/half", "x")
	if _, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true", Fill: fill}); !errors.Is(err, ErrWorkspaceThere) {
		t.Error(err)
	}
	old := time.Now().Add(-25 * time.Hour)
	must(0, os.Chtimes(left, old, old))
	h.spawn(m, SpawnOptions{ID: "s2", Fill: fill})
	h.spawn(m, SpawnOptions{ID: "s1", Fill: fill})
	if all := must(os.ReadDir(h.join(Workspaces))); len(all) != 2 || len(must(os.ReadDir(h.join("workspaces/s1")))) > 0 {
		t.Errorf("there are %v", all)
	}
}

// A caller may refuse to have a child go on in the workspace that it finds.
func TestACallerLooksAtAWorkspaceThatWasThere(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	asked := 0
	again := func(workspace *os.Root, answer string) error {
		asked++
		_, err := workspace.Stat("notes")
		return errors.Join(err, errors.New(answer))
	}
	run := h.spawn(m, SpawnOptions{ID: "s1", Again: again})
	write(t, run.Workspace()+"/notes", "x")
	must(0, run.Withdraw())
	_, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true", AnswerFile: "out.md", Again: again})
	if asked != 1 || err == nil || err.Error() != "out.md" || len(h.names()) > 0 {
		t.Errorf("asked %d times, %v, in the outbox are %q", asked, err, h.names())
	}
}
