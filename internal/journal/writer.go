package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxBatch bounds how many writes share a transaction, because the first of them waits for the last.
const maxBatch = 64

// writer carries out all writes, one transaction after the other, on the only connection that writes. While a
// transaction is flushed to the disk, further callers wait. Then all of them share the next transaction and its one
// flush. A caller that needs the flush is told that its write is done only after the flush.
//
// If no caller of a transaction needs the flush, it is committed without one. It survives kill -9, because the kernel
// has it. It reaches the disk with the next flushed transaction, because the log is one file.
type writer struct {
	db         *sql.DB
	statements map[string]*sql.Stmt // all statements, because none can be prepared during a transaction
	todo       chan *order          // unbuffered: every order that was handed over gets an answer
	closed     chan struct{}
	close      func()
	loop       sync.WaitGroup

	unflushed bool // the last setting given to SQLite; a new connection flushes
	flushes   tally
	waiting   atomic.Int64 // callers whose write has not returned yet
}

// order is one caller's write. do returns only errors of the database. If the journal itself refuses the write, do
// passes that to the caller in another way and returns nil, so that it does not spoil the transaction of the others. do
// may be called again in another transaction if the first one failed.
type order struct {
	ctx   context.Context
	flush flush
	do    func(*transaction) error
	done  chan error
}

// flush tells when an order counts as done.
type flush bool

const (
	onDisk     flush = true  // when it survives a loss of power
	withKernel flush = false // when it survives the end of the process
)

// writes lists the statements that orders may use.
var writes = []string{
	synchronous, insertRun, renewRun, getRun, getState, moveRun, bind, release, setAnswered, setUsage, noteSite, noteEnding, refile, keepKey, deleteRun, oldestKeys,
	raiseHorizon, dropKeys, freeName, unnameOutbox, keepOutbox, lookedThrough,
	noteQuestion, noteDecision, noteTaken, noteChange,
	noteWorkspace, leaveWorkspace, forgetWorkspace, partWithWorkspace, workspaceGone,
	freeCount, shrink,
}

func newWriter(db *sql.DB) (*writer, error) {
	w := &writer{db: db, statements: make(map[string]*sql.Stmt), todo: make(chan *order), closed: make(chan struct{})}
	for _, query := range writes {
		statement, err := db.PrepareContext(context.Background(), query)
		if err != nil {
			return nil, err
		}
		w.statements[query] = statement // closed with the database
	}
	w.close = sync.OnceFunc(func() { close(w.closed) })
	w.loop.Go(w.run)
	return w, nil
}

// carryOut hands a write over and waits until it is done or has failed.
func (w *writer) carryOut(ctx context.Context, flush flush, do func(*transaction) error) error {
	o := &order{ctx: ctx, flush: flush, do: do, done: make(chan error, 1)}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.todo <- o:
		return <-o.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closed:
		return ErrClosed
	}
}

func (w *writer) isClosed() bool {
	select {
	case <-w.closed:
		return true
	default:
		return false
	}
}

// stop refuses new orders and waits for the ones already handed over.
func (w *writer) stop() {
	w.close()
	w.loop.Wait()
}

func (w *writer) run() {
	runtime.LockOSThread() // each order's processor time is measured by the thread
	defer runtime.UnlockOSThread()
	for {
		select {
		case o := <-w.todo:
			w.settle(w.gather(o))
		case <-w.closed:
			return
		}
	}
}

// gather takes all orders that wait now, and drops those whose callers gave up.
func (w *writer) gather(o *order) (batch []*order) {
	for {
		if err := o.ctx.Err(); err != nil {
			o.done <- err
		} else {
			batch = append(batch, o)
		}
		if len(batch) == maxBatch {
			return batch
		}
		select {
		case o = <-w.todo:
		default:
			return batch
		}
	}
}

// settle carries out a batch and tells its callers the result. If one order fails, each gets its own transaction, so
// that one caller's mistake does not fail the others. If the commit fails, nobody knows what is on the disk, and all
// callers get the error.
func (w *writer) settle(batch []*order) {
	err := w.charge(batch)
	for _, o := range batch {
		if errors.As(err, new(spoilt)) && len(batch) > 1 {
			o.done <- w.charge([]*order{o})
			continue
		}
		o.done <- err
	}
}

// spoilt is the error of the order that made its transaction roll back.
type spoilt struct{ error }

func (e spoilt) Unwrap() error { return e.error }

// together carries out orders in one transaction. The callers' contexts do not end it.
func (w *writer) together(batch []*order) error {
	if len(batch) == 0 {
		return nil
	}
	needed := withKernel
	for _, o := range batch {
		needed = needed || o.flush
	}
	if err := w.set(needed); err != nil {
		return err
	}
	tx, err := w.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo, and before it nothing to save
	for _, o := range batch {
		if err := o.do(&transaction{tx, w.statements}); err != nil {
			return spoilt{err}
		}
	}
	return w.commit(tx, needed)
}

// set tells SQLite whether to flush the next transaction. This is possible only between two transactions.
func (w *writer) set(needed flush) error {
	if w.unflushed == !bool(needed) {
		return nil
	}
	level := `PRAGMA synchronous = normal`
	if needed {
		level = `PRAGMA synchronous = full`
	}
	_, err := w.db.ExecContext(context.Background(), level)
	if err == nil {
		w.unflushed = !bool(needed)
	}
	return err
}

// commit commits. If the flush is needed, it first asks SQLite whether it is really going to flush.
func (w *writer) commit(tx *sql.Tx, needed flush) error {
	if !needed {
		return tx.Commit()
	}
	level := 0
	if err := tx.StmtContext(context.Background(), w.statements[synchronous]).QueryRowContext(context.Background()).Scan(&level); err != nil || level != everyCommit {
		return fmt.Errorf("SQLite would not flush data that must be on the disk (%d, %w)", level, err)
	}
	begin := time.Now()
	err := tx.Commit()
	w.flushes.add(time.Since(begin))
	return err
}

const (
	synchronous = `SELECT synchronous FROM pragma_synchronous`
	everyCommit = 2 // SQLite's number for a flush with every commit
)

// tally counts flushes and remembers how long the last ones took.
type tally struct {
	mu    sync.Mutex
	count int
	last  [1024]time.Duration
}

func (t *tally) add(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.count%len(t.last)] = took
	t.count++
}

// Flushes returns how often this journal was flushed to the disk since it was opened, and how long a flush usually
// takes (the median of the last ones). Without a flush the time is 0.
func (j *Journal) Flushes() (count int, usual time.Duration) {
	if j.writer == nil {
		return 0, 0
	}
	t := &j.writer.flushes
	t.mu.Lock()
	defer t.mu.Unlock()
	last := slices.Sorted(slices.Values(t.last[:min(t.count, len(t.last))]))
	if len(last) == 0 {
		return 0, 0
	}
	return t.count, last[len(last)/2]
}

// transaction gives an order access to the present transaction.
type transaction struct {
	tx         *sql.Tx
	statements map[string]*sql.Stmt
}

// exec runs one of writes and returns how many rows it changed.
func (t *transaction) exec(query string, args ...any) (changed int64, err error) {
	result, err := t.tx.StmtContext(context.Background(), t.statements[query]).ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *transaction) row(query string, args ...any) *sql.Row {
	return t.tx.StmtContext(context.Background(), t.statements[query]).QueryRowContext(context.Background(), args...)
}
