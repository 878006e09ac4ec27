package house

import (
	"database/sql"
	"path/filepath"
	"time"

	"torno/internal/journal"
)

// SetClock makes all that a dead watcher noted look as if somebody had set the machine's clock since. A clock that was put forward by
// an hour makes what was noted an hour older. The machine's own clock stays: others need it.
func (h *House) SetClock(forward time.Duration) {
	h.Helper()
	path := filepath.Join(h.State, "journal.db")
	j, err := journal.Open(h.Context(), path) // the dead watcher has not closed it
	h.Must(err)
	h.Must(j.Close())
	db, err := sql.Open("sqlite", path)
	h.Must(err)
	done, err := db.Exec(`UPDATE runs SET created = created - ?1, starting = starting - ?1, made = made - ?1, released = released - ?1,
		started = started - ?1`, int64(forward))
	h.Must(err)
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		h.Fatalf("the journal has nothing that could be shifted: %d rows, %v", rows, err)
	}
	h.Must(db.Close())
}
