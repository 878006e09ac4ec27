package manager

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

func TestAttachFindsTheRunAgain(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", AnswerFile: "out.txt"})
		write(t, run.Workspace()+"/out.txt", "42")
		again, err := h.client(Options{}).Attach("s1") // by a new process
		if err != nil {
			t.Fatal(err)
		}
		if again.RequestID() != run.RequestID() || again.Workspace() != run.Workspace() {
			t.Errorf("found %+v", again)
		}
		h.respond(run)
		if result, err := again.Wait(t.Context()); err != nil || result.Answer != "42" {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// MassGen's client writes such requests; a relative workspace lies beneath the outbox.
func TestAttachToARequestOfOthers(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		write(t, h.join("request_s1.json"), `{"version":"1","subagent_id":"s1","request_id":7,"task":"x","yaml_config":{},
			"answer_file":"w/answer.txt","workspace":"w","timeout_seconds":"30"}`)
		run, err := h.client(Options{}).Attach("s1")
		if err != nil || run.Workspace() != h.join("w") || run.RequestID() != "7" {
			t.Fatalf("run %+v, %v", run, err)
		}
		h.respond(run)
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAttachToARequestThatIsRefused(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		write(t, h.join("request_s1.json"), `{"version":1,"subagent_id":"s1","request_id":"r1","task":"",
			"yaml_config":{},"answer_file":"/etc/passwd","workspace":"/w","timeout_seconds":-1}`)
		run, err := h.client(Options{}).Attach("s1")
		if err != nil {
			t.Fatal(err)
		}
		h.respond(run, func(r *delegation.Response) {
			r.Status, r.Reason = delegation.StatusError, delegation.ReasonRefused
			r.Error = &delegation.Refusal{Code: delegation.CodeInvalid, Field: "task", Text: "Invalid request: task must not be empty"}
		})
		result, err := run.Wait(t.Context())
		if err != nil || !result.Refused() || result.Error.Field != "task" || result.Answer != "" || result.AnswerErr != nil {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

func TestAttachFails(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	write(t, h.join("request_torn.json"), `{"version":1,"subagent_id"`)
	write(t, t.TempDir()+"/other", "{}")
	if err := mkfifo(h.join("request_fifo.json")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]error{"s1": ErrNoRun, "fifo": delegation.ErrNotRegular, "torn": nil, "../s1": nil} {
		if _, err := m.Attach(id); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: error %v", id, err)
		}
	}
}

func TestCancelWritesASentinelThatCounts(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	elsewhere := t.TempDir() + "/victim"
	write(t, elsewhere, "untouched")
	if err := os.Symlink(elsewhere, h.join("cancel_s1")); err != nil {
		t.Fatal(err)
	}
	if err := m.Cancel(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	request, sentinel := must(h.dir.Stat("request_s1.json")), must(h.dir.Stat("cancel_s1"))
	if !delegation.SentinelCounts(request, sentinel, time.Now()) {
		t.Errorf("request %v, sentinel %v", request, sentinel)
	}
	if text := must(os.ReadFile(elsewhere)); string(text) != "untouched" {
		t.Errorf("followed a link: %q", text)
	}
	if err := m.Cancel(t.Context(), "s2"); !errors.Is(err, ErrNoRun) {
		t.Errorf("error %v", err)
	}
	if err := run.Withdraw(); err != nil {
		t.Error(err)
	}
	if left := h.names(); len(left) > 0 {
		t.Errorf("left in the outbox: %q", left)
	}
}

// TestCancelNamesTheRequest where the watcher says that it knows such sentinels.
func TestCancelNamesTheRequest(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	beat := must(m.heartbeat())
	beat.Features = append(beat.Features, delegation.FeatureCancel)
	if err := h.dir.Publish(delegation.HeartbeatName, must(beat.Encode())); err != nil {
		t.Fatal(err)
	}
	if err := run.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if name := delegation.CancelRequestName(run.id, run.request); !slices.Contains(h.names(), name) || slices.Contains(h.names(), "cancel_s1") {
		t.Errorf("%s is not in the outbox alone: %q", name, h.names())
	}
	if err := run.Withdraw(); err != nil {
		t.Error(err)
	}
	for _, name := range h.names() {
		if strings.HasPrefix(name, "cancel_") {
			t.Errorf("%s is left", name)
		}
	}
}

// A run may not end another one, nor take away its files.
func TestAnEarlierRunCannotEndALaterOne(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		first := h.spawn(m, SpawnOptions{ID: "s1"})
		h.respond(first)
		second := h.spawn(m, SpawnOptions{ID: "s1", Replace: true})
		h.respond(first) // late
		for name, err := range map[string]error{"cancel": first.Cancel(t.Context()), "withdraw": first.Withdraw()} {
			if !errors.Is(err, ErrSuperseded) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := take(t.Context(), first); err != nil {
			t.Error(err)
		}
		if !slices.Contains(h.names(), "request_s1.json") {
			t.Fatal("the later request is gone")
		}
		h.respond(second)
		if _, err := take(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

func TestResultIsKeptWhenItsFilesCannotBeRemoved(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.respond(run, func(r *delegation.Response) { r.StdoutTail = "kept" })
		if err := os.Mkdir(h.join("cancel_s1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if result, err := take(t.Context(), run); !errors.Is(err, delegation.ErrDirectory) || result.StdoutTail != "kept" {
			t.Errorf("result %+v, %v", result, err)
		}
		if again, err := run.m.Taken("s1"); err != nil || again.StdoutTail != "kept" {
			t.Errorf("kept is %+v, %v", again, err)
		}
	})
}
