package journal

import (
	"context"
	"database/sql"
	"sync"
)

// reader holds the reading connections. It prepares each query once; there are only the queries of this package.
type reader struct {
	*sql.DB

	mu    sync.Mutex
	known map[string]*sql.Stmt
}

func newReader(db *sql.DB) *reader { return &reader{DB: db, known: make(map[string]*sql.Stmt)} }

// prepared does not take the caller's context, because the statement outlives the call. It is closed with the database.
func (r *reader) prepared(query string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if statement := r.known[query]; statement != nil {
		return statement, nil
	}
	statement, err := r.PrepareContext(context.Background(), query)
	if err == nil {
		r.known[query] = statement
	}
	return statement, err
}
