package watcher

import (
	"database/sql"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
)

// TestThePowerTakesWhatWasNotFlushed puts the journal back to what is sure to be on the disk at the moment when a sandbox
// was made: that the run begins is there or not, and its move to starting is not. The next watcher starts, and the run
// ends as if nothing had been.
func TestThePowerTakesWhatWasNotFlushed(t *testing.T) {
	for name, statement := range map[string]string{
		"the move":  `UPDATE runs SET state = 'queued', starting = 0, sandbox = ''`,
		"the whole": `DELETE FROM runs`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			made, release := make(chan struct{}), make(chan struct{})
			d.world.After(sandboxtest.OpCreate, func() { close(made); <-release })
			a := d.submit(ask{id: "s1", task: "echo"})
			<-made
			d.world.After(sandboxtest.OpCreate, nil)
			d.crash(func() { close(release) })
			d.tamper(statement)
			d.open()
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.onceEach()
		})
	}
}

// tamper changes the journal behind its back.
func (d *desk) tamper(statement string) {
	d.Helper()
	db, err := sql.Open("sqlite", filepath.Join(d.state, "journal.db")+"?_pragma=busy_timeout(10000)")
	d.must(err)
	_, err = db.ExecContext(d.Context(), statement)
	d.must(err)
	d.must(db.Close())
}
