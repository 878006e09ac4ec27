package outbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/journal"
	"torno/sandbox"
)

// TestAFloodOfHalfWrittenRequestsIsNotWaitedFor (H26): all others wait while a parent's outbox is taken over.
func TestAFloodOfHalfWrittenRequestsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, start := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20}), time.Now()
		for i := range 200 {
			name := fmt.Sprint("request_s", i, ".json")
			path := filepath.Join(box.Dir.Path(), name)
			if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil { // it is still being written
				t.Fatal(err)
			}
			if _, reason := box.StillAsked(journal.Run{FileName: name}); reason != delegation.ReasonSuperseded {
				t.Fatalf("%s is %q", name, reason)
			}
		}
		if waited := time.Since(start); waited == 0 || waited > 5*time.Second {
			t.Errorf("their writers were waited for, for %s", waited)
		}
	})
}

// TestAFileThatChangesWithoutEndIsNotWaitedFor (H26), but a shortage of this process is.
func TestAFileThatChangesWithoutEndIsNotWaitedFor(t *testing.T) {
	box := newBox(t, Host{Runs: noRuns{}}, Settings{})
	for err, want := range map[error]int{delegation.ErrChanged: mostWriterPauses, syscall.EMFILE: 200} {
		pauses := 0
		for range 200 {
			if box.mayReadAgain("request_s1.json", nil, delegation.Reading{}, fmt.Errorf("read it: %w", err)) {
				pauses++
			}
		}
		if pauses != want {
			t.Errorf("%v is waited for %d times, want %d", err, pauses, want)
		}
	}
}

// TestARequestThatCannotBeReadNow ends no run: this process is short of something, or the request is longer than requests may be now.
func TestARequestThatCannotBeReadNow(t *testing.T) {
	box := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20})
	const name = "request_s1.json"
	text := `{"version":1,"subagent_id":"s1","request_id":"0123456789abcdef","task":"` + strings.Repeat("x", 9<<10) + `","workspace":"/w","timeout_seconds":9,"yaml_config":{}}`
	if err := os.WriteFile(filepath.Join(box.Dir.Path(), name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	data, read, err := box.Dir.ReadRequest(name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	request, err := delegation.DecodeRequest(data)
	if err != nil {
		t.Fatal(err)
	}
	record := journal.Run{FileName: name, Subagent: request.SubagentID, Request: request.RequestID, Stamp: read.Stamp, Content: read.Content}
	box.Settings.MaxRequestBytes = 8 << 10
	if _, reason := box.StillAsked(record); reason != "" {
		t.Errorf("where the limit is lower now, it ends as %s", reason)
	}
	if there, err := box.StillThere(name, read); err != nil || !there {
		t.Errorf("and its request is gone: %v", err)
	}
	record.Terms = &sandbox.Spec{Approvals: &approval.Policy{}}
	var most syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
		t.Fatal(err)
	}
	none := syscall.Rlimit{Max: most.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil { // what is open stays open
		t.Fatal(err)
	}
	a, reason := box.TakeUp(record, false)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
		t.Fatal(err)
	}
	if reason != "" || a.Spec.Approvals == nil {
		t.Errorf("without a file descriptor it ends as %q, and its agent's questions are decided by %+v", reason, a.Spec.Approvals)
	}
	for _, c := range []struct {
		err   error
		short bool
	}{{syscall.EMFILE, true}, {syscall.EIO, true}, {fs.ErrNotExist, false}, {fs.ErrPermission, false}, {delegation.ErrChanged, false}, {nil, false}} {
		if got := isShortage(name, c.err); got != c.short {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// TestARequestThatGetsItsNameByALink has two names for a moment, where the file system cannot rename without replacing.
func TestARequestThatGetsItsNameByALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20})
		const name = "request_s1.json"
		temp := filepath.Join(box.Dir.Path(), ".torno-temp")
		for _, err := range []error{
			os.WriteFile(temp, []byte("{}"), 0o644), os.Chtimes(temp, time.Time{}, time.Now()), os.Link(temp, filepath.Join(box.Dir.Path(), name)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		unsettled := func() bool {
			_, read, err := box.Dir.ReadRequest(name, 1<<20)
			refusal := delegation.RefuseEntry(name, err)
			if refusal == nil {
				t.Fatalf("it is read with two names: %v", err)
			}
			return Intake{read: read}.unsettled(refusal)
		}
		if !unsettled() {
			t.Error("it is refused while it gets its name")
		}
		time.Sleep(settle)
		if unsettled() {
			t.Error("it keeps two names, and is looked at again and again")
		}
	})
}
