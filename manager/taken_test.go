package manager

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// A result stays until its caller says that it has it.
func TestAResultStaysUntilItIsAcknowledged(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		write(t, run.Workspace()+"/answer.txt", "42\xff\x00")
		h.respond(run)
		var result Result
		for range 3 { // also by a client that knows nothing
			again := must(h.client(Options{}).Attach("s1"))
			result = must(again.Wait(t.Context()))
			if result.Answer != "42\xff\x00" || !result.TakenAt.IsZero() {
				t.Errorf("result %+v", result)
			}
		}
		if got := h.names(); !slices.Equal(got, []string{"request_s1.json", "response_s1.json"}) {
			t.Errorf("in the outbox: %q", got)
		}
		must(0, run.Acknowledge(result))
		if left := h.names(); len(left) > 0 {
			t.Errorf("left in the outbox: %q", left)
		}
		must(0, run.Acknowledge(result)) // a second caller, which was slower
	})
}

// What was taken can be read again, and a client that comes too late is told when it was taken and where its workspace is.
func TestWhatWasTakenIsKept(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		run := h.spawn(m, SpawnOptions{ID: "s1"})
		late := must(m.Attach("s1"))
		write(t, run.Workspace()+"/answer.txt", "42\xff\x00<&>")
		h.respond(run, func(r *delegation.Response) {
			r.Status, r.Reason, r.ExitCode, r.StdoutTail = delegation.StatusError, delegation.ReasonLaunchFailed, -1, "tail"
			r.StderrTail = "the launcher failed"
			r.Error = &delegation.Refusal{Code: delegation.CodeLaunch, Text: "the launcher failed", Hint: "again"}
		})
		result := must(take(t.Context(), run))
		again, err := h.client(Options{}).Taken("s1")
		if err != nil || again.TakenAt.IsZero() {
			t.Fatalf("%+v, %v", again, err)
		}
		again.TakenAt = time.Time{}
		if got, want := fmt.Sprintf("%+v %+v", again, *again.Error), fmt.Sprintf("%+v %+v", result, *result.Error); strings.ReplaceAll(got, fmt.Sprintf("%p", again.Error), "") != strings.ReplaceAll(want, fmt.Sprintf("%p", result.Error), "") {
			t.Errorf("kept is %s\nwas     %s", got, want)
		}
		for name, try := range map[string]func() error{
			"attach": func() error { _, err := m.Attach("s1"); return err },
			"wait":   func() error { _, err := late.Wait(t.Context()); return err },
		} {
			err := try()
			taken, ok := errors.AsType[*TakenError](err)
			if !ok || taken.Workspace != run.Workspace() || !taken.At.Equal(time.Now()) || !errors.Is(err, ErrNoRun) && !errors.Is(err, ErrGone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := m.Taken("s2"); !errors.Is(err, ErrNoRun) {
			t.Errorf("error %v", err)
		}
		if _, err := m.Taken("../s2"); err == nil {
			t.Error("a name that is no id was looked for")
		}
	})
}

// Copies go after a day, and the oldest when there are too many or too much of them.
func TestCopiesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{AnswerMax: 8 << 20})
		one := func(id string, size int) {
			h.sendBeat()
			run := h.spawn(m, SpawnOptions{ID: id})
			write(t, run.Workspace()+"/answer.txt", strings.Repeat("x", size))
			h.respond(run)
			must(take(t.Context(), run))
			now := time.Now() // the bubble's clock is not the file system's
			must(0, os.Chtimes(h.join("taken/"+id+".json"), now, now))
		}
		one("first", 4<<20)
		if r := must(m.Taken("first")); len(r.Answer) != 1<<20 || !r.AnswerTruncated {
			t.Errorf("the copy of a long answer has %d bytes", len(r.Answer))
		}
		must(0, os.Mkdir(h.join("taken/directory"), 0o700))
		for n := range maxTakenFiles + 5 {
			time.Sleep(time.Second)
			one(fmt.Sprint("s", n), 1)
		}
		if n := len(must(os.ReadDir(h.join("taken")))); n != maxTakenFiles+1 {
			t.Errorf("%d copies", n-1)
		}
		if _, err := m.Taken("first"); !errors.Is(err, ErrNoRun) {
			t.Errorf("the oldest is still there: %v", err)
		}
		time.Sleep(maxTakenAge + time.Hour)
		one("last", 1)
		if n := len(must(os.ReadDir(h.join("taken")))); n != 2 {
			t.Errorf("%d copies are older than a day", n-2)
		}
		for n := range 70 {
			time.Sleep(time.Second)
			one(fmt.Sprint("big", n), 1<<20)
		}
		sum := int64(0)
		for _, e := range must(os.ReadDir(h.join("taken"))) {
			sum += must(e.Info()).Size()
		}
		if sum > maxTakenBytes+2<<20 {
			t.Errorf("%d bytes of copies", sum)
		}
	})
}

// Where no copy can be kept nothing is removed, whatever stands in its way, and nothing that it leads to is touched.
func TestACopyThatCannotBeKept(t *testing.T) {
	for name, plant := range map[string]func(h *host, elsewhere string) error{
		"a link":      func(h *host, elsewhere string) error { return os.Symlink(elsewhere, h.join("taken")) },
		"a file":      func(h *host, _ string) error { return os.WriteFile(h.join("taken"), nil, 0o600) },
		"a directory": func(h *host, _ string) error { return os.MkdirAll(h.join("taken/s1.json"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				elsewhere := t.TempDir()
				must(0, plant(h, elsewhere))
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				h.respond(run)
				if _, err := take(t.Context(), run); err == nil {
					t.Error("acknowledged without a copy")
				}
				if !slices.Contains(h.names(), "response_s1.json") {
					t.Errorf("in the outbox: %q", h.names())
				}
				if entries := must(os.ReadDir(elsewhere)); len(entries) > 0 {
					t.Errorf("behind the link there is %v", entries)
				}
			})
		})
	}
}

// What stands in the place of a copy is read as everything else in an outbox is.
func TestCopiesThatAreTraps(t *testing.T) {
	for name, plant := range map[string]func(path, secret string) error{
		"a link":        func(path, secret string) error { return os.Symlink(secret, path) },
		"a second name": func(path, secret string) error { return os.Link(secret, path) },
		"a FIFO":        func(path, _ string) error { return mkfifo(path) },
		"nonsense":      func(path, _ string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"another subagents": func(path, _ string) error {
			return os.WriteFile(path, []byte(`{"Version":1,"SubagentID":"s2"}`), 0o600)
		},
		"far too long": func(path, _ string) error { return os.WriteFile(path, make([]byte, maxTakenCopy+1), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			secret := filepath.Join(t.TempDir(), "secret")
			write(t, secret, `{"Version":1,"SubagentID":"s1"}`)
			write(t, h.join("taken/other"), "")
			must(0, plant(h.join("taken/s1.json"), secret))
			if r, err := h.client(Options{}).Taken("s1"); err == nil {
				t.Errorf("it read %+v", r)
			}
			if _, err := h.client(Options{}).Attach("s1"); !errors.Is(err, ErrNoRun) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A later run of the same subagent keeps its place when an earlier one is acknowledged late.
func TestALateAcknowledgement(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		first := h.spawn(m, SpawnOptions{ID: "s1"})
		h.respond(first)
		result := must(first.Wait(t.Context()))
		second := h.spawn(m, SpawnOptions{ID: "s1", Replace: true})
		must(0, first.Acknowledge(result))
		if !slices.Contains(h.names(), "request_s1.json") {
			t.Error("the later request is gone")
		}
		if err := second.Acknowledge(result); err == nil {
			t.Error("a result was taken for another run's")
		}
	})
}

// Which text is the answer is seen by comparing, and one that is only a beginning says where all of it is.
func TestWhereAnAnswerComesFrom(t *testing.T) {
	long := strings.Repeat("line\n\xff", 3000)
	for name, c := range map[string]struct {
		answer, printed, whole string
		from                   AnswerFrom
		cut                    string
	}{
		"printed":           {"42\n", "42\n", "", FromStdout, ""},
		"long and printed":  {long, long, "", FromStdout, "answer.txt"},
		"written":           {"mine", "chatter", "", FromFile, ""},
		"long and written":  {long, "chatter", "", FromFile, "answer.txt"},
		"written, silently": {"mine", "", "", FromFile, ""},
		"cut by the host":   {long[:1000], long, long, FromStdout, "answer.txt.whole"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{AnswerMax: 5000}), SpawnOptions{ID: "s1"})
				write(t, run.Workspace()+"/answer.txt", c.answer)
				if c.whole != "" {
					write(t, run.Workspace()+"/answer.txt.whole", c.whole)
				}
				h.respond(run, func(r *delegation.Response) { r.StdoutTail = delegation.Tail([]byte(c.printed)) })
				r := must(run.Wait(t.Context()))
				want := ""
				if c.cut != "" {
					want = filepath.Join(run.Workspace(), c.cut)
				}
				if r.AnswerFrom != c.from || r.AnswerWhole != want || r.AnswerTruncated != (want != "") || r.Answer != c.answer[:min(len(c.answer), 5000)] {
					t.Errorf("from %q, whole in %q, %d bytes", r.AnswerFrom, r.AnswerWhole, len(r.Answer))
				}
			})
		})
	}
}
