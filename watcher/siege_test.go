package watcher

import (
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/watcher/outbox"
)

// TestASegmentOfAnAbsurdNumber: a parent names a file like a segment that no run reaches, and takes its request away. Removing
// what belongs to the request must not count up to there.
func TestASegmentOfAnAbsurdNumber(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo x"})
	d.response(a)
	record := d.latest("s1")
	for _, seq := range []int{1 << 31, 1<<63 - 1} {
		d.must(os.WriteFile(filepath.Join(d.outbox, delegation.EventsName(record.Subagent, record.Request, seq)), []byte("x"), 0o644))
	}
	d.listed()
	d.remove("request_s1.json")
	d.eventually("what belongs to the request is removed", func() bool { return !d.exists("response_s1.json") && !d.exists("status_s1.json") })
	d.want(d.response(d.submit(ask{id: "s2", task: "echo y"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestTheWorkspaceOfARunThatIsAsideAndStrandedIsTaken: neither its outbox nor its site is there, and its sandbox may live.
func TestTheWorkspaceOfARunThatIsAsideAndStrandedIsTaken(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	defer release()
	_, running := d.answered()
	d.pause()
	d.world.Exchange("site-2")
	second := d.newOutbox("second")
	d.lead("main", d.newOutbox("elsewhere"))
	other := d.settings("second", second)
	other.Policy.Allow = append(other.Policy.Allow, d.settings("main", d.outbox).Policy.Allow...)
	d.config.Outboxes = append(d.config.Outboxes, other)
	d.open()
	resp := d.response(d.submit(ask{id: "s1", task: "echo", outbox: second, workspace: running.workspace}))
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("its workspace is another's: %s, %+v", resp.Status, resp.Error)
	}
	if run, err := d.operator().Run(t.Context(), "main/running"); err != nil || run.Stranded == "" {
		t.Errorf("the operator reads %+v, %v", run, err)
	}
	d.pause()
}

// TestAnotherOutboxsDirectoryIsNotTheSame: what lies there has run under the other one's id, and would run again.
func TestAnotherOutboxsDirectoryIsNotTheSame(t *testing.T) {
	d := newDesk(t, nil)
	first := d.outbox
	d.response(d.submit(ask{id: "long-ago", task: "echo"}))
	d.stop()
	d.outbox = d.newOutbox("second")
	d.config.Outboxes = []outbox.Settings{d.settings("other", first), d.settings("main", d.outbox)}
	d.open()
	release := d.gate()
	defer release()
	d.started(d.submit(ask{id: "running", task: "gated"}))
	d.pause()
	d.lead("main", first)
	d.open()
	if _, err := d.operator().Accept(t.Context(), "main", control.Same); err == nil {
		t.Error("the directory of another outbox was accepted as the same")
	}
	d.pause()
}
