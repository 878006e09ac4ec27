package manager

import (
	"context"
	"errors"
	"os"
	"testing"

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
