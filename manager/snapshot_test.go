package manager

import (
	"errors"
	"os"
	"testing"

	"torno/delegation"
)

// A host that does not know of earlier answers leaves them where they are.
func TestAnEarlierAnswerIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		child  func(path string) error
		want   string
	}{
		"left as it was":       {"answer.txt", func(string) error { return nil }, ""},
		"left, in a directory": {"out/answer.txt", func(string) error { return nil }, ""},
		"written anew":         {"answer.txt", func(path string) error { return os.WriteFile(path, []byte("new answer"), 0o600) }, "new answer"},
		"replaced by the same": {"answer.txt", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("old answer"), 0o600), os.Rename(path+".new", path))
		}, "old answer"},
		"removed": {"answer.txt", os.Remove, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				m := h.client(Options{})
				path := h.join("workspaces/s1/" + c.answer)
				first := h.spawn(m, SpawnOptions{ID: "s1", AnswerFile: c.answer})
				write(t, path, "old answer")
				h.respond(first)
				if result, err := take(t.Context(), first); err != nil || result.Answer != "old answer" {
					t.Fatalf("the oracle is dead: %q, %v", result.Answer, err)
				}
				again := h.spawn(m, SpawnOptions{ID: "s1", AnswerFile: c.answer})
				if err := c.child(path); err != nil {
					t.Fatal(err)
				}
				h.respond(again)
				result, err := take(t.Context(), again)
				if err != nil || result.Answer != c.want || result.AnswerErr != nil {
					t.Errorf("answer %q, want %q, %v, %v", result.Answer, c.want, result.AnswerErr, err)
				}
			})
		})
	}
}

// An earlier child had the directory above for its workspace, and exchanges what lies in it.
func TestAnswerOfAWorkspaceThatWasExchanged(t *testing.T) {
	for name, attach := range map[string]bool{"spawned here": false, "found again": true} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				base := t.TempDir()
				workspace, elsewhere := base+"/a/b", base+"/home/b"
				write(t, workspace+"/file", "")
				write(t, elsewhere+"/answer.txt", "the parent's key")
				m := h.client(Options{})
				run := h.spawn(m, SpawnOptions{ID: "s1", Workspace: workspace})
				if attach {
					run = must(h.client(Options{}).Attach("s1"))
				}
				if err := errors.Join(os.Rename(base+"/a", base+"/aside"), os.Symlink(base+"/home", base+"/a")); err != nil {
					t.Fatal(err)
				}
				if alive, err := os.ReadFile(workspace + "/answer.txt"); string(alive) != "the parent's key" {
					t.Fatalf("the oracle is dead: %q, %v", alive, err)
				}
				h.respond(run)
				result, err := run.Wait(t.Context())
				if err != nil || result.Answer != "" || result.AnswerErr == nil {
					t.Errorf("answer %q, %v, %v", result.Answer, result.AnswerErr, err)
				}
			})
		})
	}
}

// A run that another process asked for may have ended before it was found.
func TestAnswerThatWasThereBeforeTheRunWasFound(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		write(t, run.Workspace()+"/answer.txt", "42")
		h.respond(run, func(r *delegation.Response) { r.Warnings = nil })
		result, err := must(h.client(Options{}).Attach("s1")).Wait(t.Context())
		if err != nil || result.Answer != "42" {
			t.Errorf("answer %q, %v", result.Answer, err)
		}
	})
}
