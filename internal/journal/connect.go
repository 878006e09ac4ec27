package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"
)

// mode tells how a connection uses the file.
type mode struct {
	dsn     string // follows the file's name
	demands string // a query that must return one row of 1s: it checks the promised settings on every new connection
	max     int
}

// The writer syncs its log on every commit; on macOS only a full fsync reaches the disk. A reader cannot write.
var (
	writing = mode{
		dsn: "?mode=rw&_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=auto_vacuum(incremental)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
			"&_pragma=fullfsync(1)&_pragma=foreign_keys(1)&_pragma=journal_size_limit(16777216)",
		demands: `SELECT (SELECT journal_mode = 'wal' FROM pragma_journal_mode), (SELECT synchronous = 2 FROM pragma_synchronous),
			(SELECT foreign_keys = 1 FROM pragma_foreign_keys)`,
		max: 1,
	}
	reading = mode{
		dsn:     "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)",
		demands: `SELECT query_only = 1 FROM pragma_query_only`,
		max:     readers,
	}
)

// connect prepares a pool; nothing is opened before the first use.
func connect(path string, m mode) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: path}
	c, err := sqlite.NewConnector(name.String() + m.dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{c, m.demands})
	db.SetMaxOpenConns(m.max)
	db.SetMaxIdleConns(m.max)
	return db, nil
}

// connector returns only connections whose settings are in force.
type connector struct {
	driver.Connector
	demands string
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := verify(ctx, conn, c.demands); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// verify runs a query and returns an error unless each column of its row is 1.
func verify(ctx context.Context, conn driver.Conn, query string) (err error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return fmt.Errorf("%T cannot be queried", conn)
	}
	rows, err := q.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); errors.Is(err, io.EOF) {
		return fmt.Errorf("no answer to %s", query)
	} else if err != nil {
		return err
	}
	for i, v := range row {
		if v != int64(1) {
			return fmt.Errorf("SQLite did not accept the setting %s (%v)", rows.Columns()[i], v)
		}
	}
	return nil
}
