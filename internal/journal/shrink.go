package journal

import (
	"context"
	"fmt"
)

// A few free pages stay in the file for the next writes.
const (
	freePages   = 256 // about 1 MB
	shrinkPages = 64  // at once, so that no writer waits for long
)

// Size is the size of the journal in bytes.
type Size struct{ Used, Free int64 }

// Size measures the database. It does not count the log beside it, which has at most 16 MB while no reader is slow.
func (j *Journal) Size(ctx context.Context) (s Size, err error) {
	var page int64
	statement, err := j.read.prepared(sizes)
	if err == nil {
		err = statement.QueryRowContext(ctx).Scan(&page, &s.Used, &s.Free)
	}
	return Size{Used: (s.Used - s.Free) * page, Free: s.Free * page}, j.explain("measure the journal", err)
}

const sizes = `SELECT (SELECT page_size FROM pragma_page_size), (SELECT page_count FROM pragma_page_count),
	(SELECT freelist_count FROM pragma_freelist_count)`

// Shrink gives some free pages back to the file system. It reports whether there are more to give.
func (j *Journal) Shrink(ctx context.Context) (more bool, err error) {
	var free int64
	err = j.order(ctx, "shrink the journal", withKernel, func(tx *transaction) error {
		if err := tx.row(freeCount).Scan(&free); err != nil || free <= freePages {
			return err
		}
		_, err := tx.exec(shrink)
		return err
	})
	return free > freePages+shrinkPages, err
}

var shrink = fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, shrinkPages)

const freeCount = `SELECT freelist_count FROM pragma_freelist_count`
