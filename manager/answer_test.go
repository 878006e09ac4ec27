package manager

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// sparse makes a file that claims to be long.
func sparse(path string, size int64) error {
	return errors.Join(os.WriteFile(path, []byte("begin"), 0o600), os.Truncate(path, size))
}

// What a child leaves in the place of its answer must never make the parent read a file of its own, block, or fill its
// memory. The oracle is alive: a plain read through each link yields the secret.
func TestAnswerIsNeverWhatItPointsTo(t *testing.T) {
	const secret = "the parent's key"
	for name, plant := range map[string]func(workspace, secret string) error{
		"link":          func(ws, s string) error { return os.Symlink(s, ws+"/sub/answer.txt") },
		"relative link": func(ws, _ string) error { return os.Symlink("../../../secret", ws+"/sub/answer.txt") },
		"link inside": func(ws, _ string) error {
			return errors.Join(os.WriteFile(ws+"/real", []byte(secret), 0o600), os.Symlink("../real", ws+"/sub/answer.txt"))
		},
		"second name": func(ws, s string) error { return os.Link(s, ws+"/sub/answer.txt") },
		"directory on a link": func(ws, s string) error {
			dir := filepath.Dir(s) + "/dir"
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/answer.txt", []byte(secret), 0o600),
				os.Remove(ws+"/sub"), os.Symlink(dir, ws+"/sub"))
		},
		"directory on a link inside": func(ws, _ string) error {
			return errors.Join(os.Mkdir(ws+"/real", 0o700), os.WriteFile(ws+"/real/answer.txt", []byte(secret), 0o600),
				os.Remove(ws+"/sub"), os.Symlink("real", ws+"/sub"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				write(t, h.join("secret"), secret)
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", AnswerFile: "sub/answer.txt"})
				if err := os.Mkdir(run.Workspace()+"/sub", 0o700); err != nil {
					t.Fatal(err)
				}
				if err := plant(run.Workspace(), h.join("secret")); err != nil {
					t.Fatal(err)
				}
				if alive, err := os.ReadFile(run.Workspace() + "/sub/answer.txt"); string(alive) != secret {
					t.Fatalf("the oracle is dead: %q, %v", alive, err)
				}
				h.respond(run)
				result, err := run.Wait(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if result.Answer != "" || result.AnswerErr == nil {
					t.Errorf("answer %q, error %v", result.Answer, result.AnswerErr)
				}
			})
		})
	}
}

func TestAnswerIsNeverWaitedFor(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"FIFO":      mkfifo,
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				t.Chdir(run.Workspace()) // a socket's path may not be long
				if err := plant("answer.txt"); err != nil {
					t.Fatal(err)
				}
				h.respond(run)
				result, err := run.Wait(t.Context())
				if err != nil || !errors.Is(result.AnswerErr, delegation.ErrNotRegular) {
					t.Errorf("error %v, of the answer %v", err, result.AnswerErr)
				}
			})
		})
	}
}

func TestAnswerIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		size, limit int64
		cut         bool
	}{
		"just fits":   {1 << 20, 0, false},
		"one too far": {1<<20 + 1, 0, true},
		"10 GB":       {10 << 30, 0, true},
		"own limit":   {6, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{AnswerMax: c.limit}), SpawnOptions{ID: "s1"})
				if err := sparse(run.Workspace()+"/answer.txt", c.size); err != nil {
					t.Fatal(err)
				}
				h.respond(run)
				result, err := run.Wait(t.Context())
				if err != nil || result.AnswerErr != nil {
					t.Fatal(err, result.AnswerErr)
				}
				limit := c.limit
				if limit == 0 {
					limit = 1 << 20
				}
				if want := min(c.size, limit); int64(len(result.Answer)) != want || result.AnswerTruncated != c.cut {
					t.Errorf("%d bytes, truncated %v", len(result.Answer), result.AnswerTruncated)
				}
				if !strings.HasPrefix(result.Answer, "begin") {
					t.Error("not the beginning")
				}
			})
		})
	}
}

func TestAnswerAndTheEndOfTheRun(t *testing.T) {
	started := func(r *delegation.Response) {}
	never := func(r *delegation.Response) { r.StartedAt = time.Time{} }
	for name, c := range map[string]struct {
		status  delegation.Status
		reason  delegation.Reason
		start   func(*delegation.Response)
		answer  string
		partial bool
	}{
		"completed":              {delegation.StatusCompleted, delegation.ReasonExited, started, "old or new", false},
		"timed out":              {delegation.StatusTimeout, delegation.ReasonDeadline, started, "old or new", true},
		"cancelled":              {delegation.StatusCancelled, delegation.ReasonCancelled, started, "old or new", true},
		"cancelled in queue":     {delegation.StatusCancelled, delegation.ReasonCancelled, never, "", false},
		"refused":                {delegation.StatusError, delegation.ReasonRefused, never, "", false},
		"a watcher of version 1": {delegation.StatusTimeout, "", never, "old or new", true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				write(t, run.Workspace()+"/answer.txt", "old or new")
				h.respond(run, func(r *delegation.Response) { r.Status, r.Reason = c.status, c.reason }, c.start)
				result, err := run.Wait(t.Context())
				if err != nil || result.Answer != c.answer || result.Partial != c.partial {
					t.Errorf("answer %q, partial %v, error %v", result.Answer, result.Partial, err)
				}
			})
		})
	}
}

func TestNoAnswerIsAnEmptyOne(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.respond(run)
		result, err := run.Wait(t.Context())
		if err != nil || result.Answer != "" || result.AnswerErr != nil || !result.Completed() {
			t.Errorf("result %+v, error %v", result, err)
		}
	})
}

// TestAWorkspaceThatIsNotSeenIsNoAnswer: the workspace was moved, or lies on a disk that this client does not see. The result stays.
func TestAWorkspaceThatIsNotSeenIsNoAnswer(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		write(t, run.Workspace()+"/answer.txt", "42")
		h.respond(run)
		away := run.Workspace() + ".away"
		if err := os.Rename(run.Workspace(), away); err != nil {
			t.Fatal(err)
		}
		result, err := run.Wait(t.Context())
		if err != nil || !errors.Is(result.AnswerErr, ErrNotSeen) {
			t.Errorf("%+v, %v", result, err)
		}
		if err := run.Acknowledge(result); !errors.Is(err, ErrNotSeen) {
			t.Errorf("it is taken without its answer: %v", err)
		}
		if err := os.Mkdir(run.Workspace(), 0o700); err != nil { // as where its disk is not mounted
			t.Fatal(err)
		}
		if result, err = run.Wait(t.Context()); err != nil || !errors.Is(run.Acknowledge(result), ErrNotSeen) {
			t.Errorf("an empty directory in its place: %+v, %v", result, err)
		}
		if err := errors.Join(os.Remove(run.Workspace()), os.Rename(away, run.Workspace())); err != nil {
			t.Fatal(err)
		}
		result, err = run.Wait(t.Context())
		if err != nil || result.Answer != "42" || run.Acknowledge(result) != nil {
			t.Errorf("it is back: %+v, %v", result, err)
		}
	})
}

// TestAnAnswerCanBeDoneWithout: nobody will see the workspace again.
func TestAnAnswerCanBeDoneWithout(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.respond(run)
		if err := os.RemoveAll(run.Workspace()); err != nil {
			t.Fatal(err)
		}
		result, err := run.Wait(t.Context())
		if err != nil || run.Acknowledge(result.WithoutAnswer()) != nil {
			t.Errorf("%+v, %v", result, err)
		}
		if kept, err := run.m.Taken("s1"); err != nil || kept.AnswerErr == nil {
			t.Errorf("the copy is %+v, %v", kept, err)
		}
	})
}

// TestAResultOutlivesALowerLimit: the watcher's limit for requests was higher when it admitted the run.
func TestAResultOutlivesALowerLimit(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		run := h.spawn(m, SpawnOptions{ID: "s1", Task: strings.Repeat("x", 9<<10)})
		h.respond(run)
		if err := h.rewrite(func(b *delegation.Heartbeat) { b.Limits.RequestBytes = 8 << 10 }); err != nil {
			t.Fatal(err)
		}
		list, err := m.List(t.Context())
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		again, err := m.Attach("s1")
		if err != nil {
			t.Fatal(err)
		}
		result, err := again.Wait(t.Context())
		if err != nil || again.Acknowledge(result) != nil {
			t.Error(err)
		}
	})
}

// TestABriefIsBounded: it has so much of the answer and no more, does not wait, and takes no other bound of the manager's away.
func TestABriefIsBounded(t *testing.T) {
	h := newHost(t)
	run := h.spawn(h.client(Options{AnswerMax: 100}), SpawnOptions{ID: "s1"})
	if _, err := run.Brief(10); !errors.Is(err, ErrRunning) {
		t.Error("before the end:", err)
	}
	write(t, run.Workspace()+"/answer.txt", strings.Repeat("x", 1000))
	h.respond(run)
	for limit, want := range map[int64]int{10: 10, 1000: 100} {
		result, err := run.Brief(limit)
		if err != nil || len(result.Answer) != want || !result.AnswerTruncated || result.RequestID != run.RequestID() {
			t.Errorf("%d: %d bytes, %v", limit, len(result.Answer), err)
		}
	}
}
