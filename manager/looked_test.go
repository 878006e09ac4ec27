package manager

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"time"

	"torno/delegation"
)

// listed is an outbox with a run that waits for a decision, and one that has ended, whose files a client has listed when they were old.
func listed(t *testing.T, h *host) (*Manager, *Run, *Run) {
	t.Helper()
	time.Sleep(time.Until(must(h.dir.Stat(delegation.HeartbeatName)).ChangeTime) + time.Hour) // the bubble's clock begins long ago
	h.sendBeat()
	m := h.client(Options{})
	asking, ended := h.spawn(m, SpawnOptions{ID: "asking"}), h.spawn(m, SpawnOptions{ID: "ended"})
	h.tell(asking, delegation.StateWaiting, func(s *delegation.RunStatus) {
		s.Approvals = []delegation.PendingApproval{{Approval: 1, Digest: string(bytes.Repeat([]byte("a"), 64)), Tool: "Bash"}}
	})
	h.respond(ended, func(r *delegation.Response) { r.Usage = &delegation.Usage{Model: &delegation.ModelUsage{Requests: 3}} })
	time.Sleep(delegation.Grain + time.Second)
	h.sendBeat()
	must(m.List(t.Context()))
	return m, asking, ended
}

// TestAListingReadsAgainOnlyWhatMayHaveChanged: what two listings tell of unchanged files is the same memory.
func TestAListingReadsAgainOnlyWhatMayHaveChanged(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m, asking, _ := listed(t, h)
		first, second := must(m.List(t.Context())).Items, must(m.List(t.Context())).Items
		if &first[0].Approvals[0] != &second[0].Approvals[0] || first[1].Usage != second[1].Usage {
			t.Error("files that did not change were read again")
		}
		h.tell(asking, delegation.StateRunning)
		third := must(m.List(t.Context())).Items
		if third[0].State != delegation.StateRunning || third[0].Approvals != nil {
			t.Errorf("a new status is not seen: %+v", third[0])
		}
		if third[1].Usage != second[1].Usage {
			t.Error("the change of one file had another one read again")
		}
		if one, ok := m.Find("ended"); !ok || one.Usage != second[1].Usage {
			t.Error("looking for one run reads what the listing has read")
		}
	})
}

// TestAYoungFileIsReadAgain: two changes within the grain of a file system's times may share a stamp.
func TestAYoungFileIsReadAgain(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m, asking, _ := listed(t, h)
		h.tell(asking, delegation.StateWaiting, func(s *delegation.RunStatus) {
			s.Approvals = []delegation.PendingApproval{{Approval: 1, Digest: string(bytes.Repeat([]byte("a"), 64)), Tool: "Bash"}}
		})
		h.spawn(m, SpawnOptions{ID: "later"}) // the files' clock stands still in a bubble: this shows how far it is behind by now
		first, second := must(m.List(t.Context())).Items, must(m.List(t.Context())).Items
		if &first[0].Approvals[0] == &second[0].Approvals[0] {
			t.Error("a file that was written just now was not read again")
		}
	})
}

// TestAListingAfterAnyChange tells what a client tells that sees the files for the first time: each check of a file is made again.
func TestAListingAfterAnyChange(t *testing.T) {
	for name, change := range map[string]func(h *host, path string) error{
		"removed": func(_ *host, path string) error { return os.Remove(path) },
		"another file in its place": func(h *host, path string) error {
			data := must(os.ReadFile(path))
			h.publish("beside", bytes.Replace(data, []byte("waiting"), []byte("running"), 1))
			return os.Rename(h.join("beside"), path)
		},
		"written in place": func(_ *host, path string) error {
			data := must(os.ReadFile(path))
			return os.WriteFile(path, bytes.Replace(data, []byte("waiting"), []byte("running"), 1), 0o600)
		},
		"written in place, with its old times": func(_ *host, path string) error {
			was, data := must(os.Stat(path)), must(os.ReadFile(path))
			if err := os.WriteFile(path, bytes.Replace(data, []byte("waiting"), []byte("running"), 1), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, was.ModTime(), was.ModTime())
		},
		"a second name": func(h *host, path string) error { return os.Link(path, h.join("second")) },
		"a link to it": func(h *host, path string) error {
			if err := os.Rename(path, h.join("moved")); err != nil {
				return err
			}
			return os.Symlink("moved", path)
		},
		"a FIFO": func(_ *host, path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return mkfifo(path)
		},
		"longer than may be": func(_ *host, path string) error { return os.Truncate(path, maxRequest+1) },
		"of another request": func(h *host, path string) error {
			data := must(os.ReadFile(path))
			h.publish("beside", bytes.Replace(data, []byte(`"request_id":"`), []byte(`"request_id":"f`), 1))
			return os.Rename(h.join("beside"), path)
		},
	} {
		for _, file := range []string{"request_asking.json", "status_asking.json", "response_ended.json"} {
			t.Run(name+": "+file, func(t *testing.T) {
				in(t, func(t *testing.T, h *host) {
					m, _, _ := listed(t, h)
					was := must(h.dir.Stat(file))
					if err := change(h, h.join(file)); err != nil {
						t.Fatal(err)
					}
					for now, err := h.dir.Stat(file); err == nil && now.SameFile(was); now, err = h.dir.Stat(file) { // within one tick of the kernel
						if err := os.Chmod(h.join(file), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					got, want := must(m.List(t.Context())), must(h.client(Options{}).List(t.Context()))
					if !reflect.DeepEqual(got, want) {
						t.Errorf("got %+v, want %+v", got, want)
					}
				})
			})
		}
	}
}
