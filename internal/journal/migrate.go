package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/atomicfile"
)

// Each migration has a number, sets PRAGMA user_version to it, and is never changed once it was released. The first one
// makes the schema.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// application marks the file as ours: "Torn".
const application = 0x546f726e

// firstVersion is the number of the first migration. No journal with a lower version was ever released.
const firstVersion = 15

// migrations returns the SQL texts in order, from number firstVersion on.
func migrations() ([]string, error) {
	entries, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	var all []string
	for i, entry := range entries {
		if n := 0; !scanNumber(entry.Name(), &n) || n != firstVersion+i {
			return nil, fmt.Errorf("migration %s is not number %d", entry.Name(), firstVersion+i)
		}
		text, err := migrationFiles.ReadFile("migrations/" + entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}

func scanNumber(name string, n *int) bool {
	_, err := fmt.Sscanf(name, "%04d_", n)
	return err == nil
}

// inspect decides whether the file may be used, and changes nothing.
func inspect(ctx context.Context, db *sql.DB, path string, readOnly bool) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	newest := firstVersion + len(all) - 1
	var version, owner, objects int
	err = db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).Scan(&version, &owner, &objects)
	switch {
	case err != nil:
		return err
	case owner != application:
		return damaged(path, "is not a journal of ours")
	case version < 1 || objects == 0:
		return damaged(path, "is empty")
	case version < firstVersion:
		return damaged(path, fmt.Sprintf("has version %d, which was never released", version))
	case version > newest, readOnly && version < newest:
		return &VersionError{Path: path, Found: version, Known: newest}
	}
	return nil
}

// migrate applies the missing migrations, each in its own transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	for i, text := range all {
		if err := apply(ctx, db, text, firstVersion+i); err != nil {
			return fmt.Errorf("migration %d: %w", firstVersion+i, err)
		}
	}
	return nil
}

// apply checks the version inside the transaction, so that two processes never apply the same migration.
func apply(ctx context.Context, db *sql.DB, text string, number int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo, and before it nothing to save
	version := 0
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil || version >= number {
		return err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version != number {
		return fmt.Errorf("it set version %d", version)
	}
	return tx.Commit()
}

// create makes a journal under another name and renames it when it is complete. So a journal without a schema or an
// installation id is never a new journal but always a damaged one. The caller holds the lock.
func create(ctx context.Context, path string) (err error) {
	draft := path + ".new"
	for _, suffix := range suffixes {
		if err := os.Remove(draft + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	if err := fill(ctx, draft); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return atomicfile.SyncDirectory(filepath.Dir(path))
}

// fill gives the draft its schema and the installation its id. Closing folds the log into the file and syncs it.
func fill(ctx context.Context, draft string) (err error) {
	db, err := connect(draft, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := migrate(ctx, db); err != nil {
		return err
	}
	var id [8]byte
	rand.Read(id[:])
	_, err = db.ExecContext(ctx, `INSERT INTO installation (one, id) VALUES (1, ?)`, hex.EncodeToString(id[:]))
	return err
}
