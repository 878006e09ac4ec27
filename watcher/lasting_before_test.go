package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/outbox"
)

// TestAJournalOfBefore has no identities. Its outbox keeps its name as its id, so that all keys stay what they are, and is bound to
// the directory that plausibly is the one.
func TestAJournalOfBefore(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.asBefore()
	d.open()
	release := d.gate()
	_, running := d.answered()
	if d.box("main") != "main" {
		t.Errorf("the id is %s", d.box("main"))
	}
	d.pause()
	d.sql(`UPDATE outboxes SET bound = 0, fsid = 0, inode = 0, birth = 0, path = ''`)
	d.lead("main", d.newOutbox("elsewhere"))
	d.open()
	if r := d.latest("running"); r.State != delegation.StateRunning {
		t.Errorf("with an empty directory the run is %s, %s", r.State, r.Reason)
	}
	d.pause()
	d.lead("main", d.outbox)
	d.open()
	d.goesOn(release, running)
}

// asBefore leaves a journal as the version before had it, with a row of the outbox.
func (d *desk) asBefore() {
	d.Helper()
	j, err := journal.Open(t0(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	entry := journal.Run{
		Outbox: "main", FileName: "request_x.json", State: delegation.StateEnded, Reason: delegation.ReasonRefused,
		Code: delegation.CodeUnparsable, Answered: true,
	}
	entry.Key = journal.EntryKey(entry.Outbox, entry.FileName, entry.Stamp, "")
	_, err = j.Begin(t0(), entry)
	d.must(errors.Join(err, j.Close()))
	d.ofBefore()
}

// ofBefore makes the journal one of the version before.
func (d *desk) ofBefore(statements ...string) {
	d.Helper()
	d.sql(`DROP TRIGGER approvals_of_pruned`, `DROP TABLE approvals`, `DROP TABLE approval_changes`, `DROP TABLE workspaces`, `DROP TABLE leaving_workspaces`)
	d.sql(append(statements, `DROP TABLE outboxes`, `DROP TABLE earlier_directories`, `DROP TABLE unseen`, `DROP INDEX runs_by_parent`,
		`ALTER TABLE runs DROP COLUMN parent`, `ALTER TABLE runs DROP COLUMN parent_run`, `ALTER TABLE runs DROP COLUMN depth`, `ALTER TABLE runs DROP COLUMN session`, `ALTER TABLE runs DROP COLUMN artifacts`, `ALTER TABLE runs DROP COLUMN terms`,
		`DROP INDEX runs_over`, `ALTER TABLE runs DROP COLUMN over_at`, `CREATE INDEX runs_over ON runs (outbox, ended) WHERE answered = 1`,
		`PRAGMA user_version = 5`)...)
}

// TestAnOutboxThatWasNotUsedBeforeTheUpgrade: the journal of before knows none of its requests, and neither does its directory. What
// lies there runs. Where something says that another journal may have had it, nothing does.
func TestAnOutboxThatWasNotUsedBeforeTheUpgrade(t *testing.T) {
	const ofBefore = `{"version":1,"protocol":1,"outbox":"main","beat_at":"2026-01-01T00:00:00Z","heartbeat_seconds":5}`
	for what, c := range map[string]struct {
		beat, beside string
		lost         bool
	}{
		"never used":            {ofBefore, "", false},
		"with an answer":        {ofBefore, "response_other.json", true},
		"with a status":         {ofBefore, "status_other.json", true},
		"called another name":   {strings.Replace(ofBefore, "main", "other", 1), "", true},
		"of a watcher of today": {strings.Replace(ofBefore, `"outbox":"main"`, `"outbox":"main","installation":"0123456789abcdef"`, 1), "", true},
		"torn by a power cut":   {"", "", true},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, nil)
			d.stop()
			d.ofBefore(`DELETE FROM runs`)
			d.must(os.WriteFile(filepath.Join(d.outbox, delegation.HeartbeatName), []byte(c.beat), 0o644))
			if c.beside != "" {
				d.touch(c.beside)
			}
			a := d.submit(ask{id: "s1", task: "echo first"})
			d.open()
			if resp := d.response(a); (resp.Error != nil && resp.Error.Code == delegation.CodeJournalLost) != c.lost {
				t.Errorf("it is answered %+v", resp)
			}
			if first, err := d.journal.Unseen(t.Context()); err != nil || first {
				t.Errorf("the next start is a first one too: %v, %v", first, err)
			}
		})
	}
}

// TestARenameAtTheUpgrade: requests that lie there tell whose they are, since no parent can give a copy their inode and time of change.
func TestARenameAtTheUpgrade(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.asBefore()
	d.open()
	before := d.submit(ask{id: "before", task: "echo before"})
	d.response(before)
	d.stop()
	d.sql(`UPDATE outboxes SET bound = 0, fsid = 0, inode = 0, birth = 0, path = ''`, `INSERT INTO unseen VALUES (1)`)
	d.remove(delegation.HeartbeatName)
	d.remove("response_before.json")
	bait := d.newOutbox("bait")
	d.must(os.CopyFS(filepath.Join(bait, "copy"), os.DirFS(d.outbox)))
	d.must(os.Rename(filepath.Join(bait, "copy", "request_before.json"), filepath.Join(bait, "request_before.json")))
	d.config.Outboxes = []outbox.Settings{d.settings("bait", bait), d.settings("renamed", d.outbox)}
	d.open()
	d.want(d.response(before), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if id := d.box("renamed"); id != "main" {
		t.Errorf("it is outbox %s", id)
	}
	if id := d.box("bait"); id == "main" {
		t.Error("a directory with copies of its requests is taken for it")
	}
}
