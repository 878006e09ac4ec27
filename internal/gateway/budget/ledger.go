package budget

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"torno/internal/boot"
	"torno/internal/lock"
)

// lockName is the lock file in the ledger's directory.
const lockName = "ledger.lock"

// HeldError means that another process has the ledger.
type HeldError struct {
	Dir    string
	Holder string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another gateway has the budgets in %s: %s", e.Dir, e.Holder)
}

// Ledger knows all spending. All its methods may be called concurrently.
type Ledger struct {
	lock *lock.Lock
	now  func() time.Time

	mu       sync.Mutex
	book     *book
	log      *log
	least    int64         // growth of the file before the first rewrite
	grown    int64         // growth since the last rewrite
	allowed  int64         // growth that triggers the next rewrite
	trouble  error         // why the last rewrite failed
	released chan struct{} // closed and replaced when a reservation ends
	closed   bool
}

// Open opens the ledger in a directory, and makes the directory if necessary. It returns a *HeldError if another
// process has the ledger, and a *DamagedError if a line cannot be read, because then the spending is unknown. now
// returns the time by which days begin (package calendar).
func Open(dir string, now func() time.Time) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the budgets: %w", err)
	}
	held, err := lock.In(dir, lockName, fmt.Sprintf("process %d", os.Getpid()))
	if err != nil {
		if other, ok := errors.AsType[*lock.HeldError](err); ok {
			return nil, &HeldError{Dir: dir, Holder: other.Holder}
		}
		return nil, err
	}
	l, err := open(setting{disk: directory(dir), dir: dir, boot: boot.Now().ID, now: now, least: compactAt})
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	l.lock = held
	return l, nil
}

// compactAt is the growth in bytes before the first rewrite.
const compactAt = 1 << 20

// setting says where and how to open a ledger.
type setting struct {
	disk  disk
	dir   string // for errors
	boot  string // "" if the machine does not tell it; then each opening counts as one after a power cut
	now   func() time.Time
	least int64
}

// open opens the ledger on a disk. The caller makes sure that no other process has it.
func open(s setting) (*Ledger, error) {
	book, size, err := load(s.disk, s.dir, s.boot)
	if err != nil {
		return nil, err
	}
	log, err := openLog(s.disk, size)
	if err != nil {
		return nil, fmt.Errorf("open the budgets' ledger: %w", err)
	}
	l := &Ledger{now: s.now, book: book, log: log, least: s.least, grown: size, allowed: s.least, released: make(chan struct{})}
	err = l.write(record{Op: opBegin, Version: version, Boot: s.boot})
	if err == nil {
		err = s.disk.flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin the budgets' ledger: %w", err), log.file.Close())
	}
	return l, nil
}

// write appends a line to the file, and then applies it to the book.
func (l *Ledger) write(r record) error {
	before := l.log.size
	if err := l.log.add(r); err != nil {
		return err
	}
	l.grown += l.log.size - before
	if err := l.book.apply(r); err != nil {
		panic("the ledger wrote a line that cannot be read again: " + err.Error())
	}
	return nil
}

// compact rewrites the ledger when most of its lines are history. If that fails, the old ledger stays in use, and
// compact tries again after the same growth.
func (l *Ledger) compact() {
	if l.grown < l.allowed {
		return
	}
	l.grown = 0
	if l.trouble = l.log.replace(l.book.lines()); l.trouble == nil {
		l.allowed = max(l.least, 4*l.log.size)
	}
}

// Trouble returns why the last rewrite of the ledger failed, or nil. The budgets hold all the same, but the file grows.
func (l *Ledger) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Close ends the use of the ledger. Open reservations count as spent.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.wake()
	err := l.log.end(record{Op: opEnd})
	if l.lock != nil {
		err = errors.Join(err, l.lock.Unlock())
	}
	return err
}

// wake wakes the callers that wait for a reservation to end.
func (l *Ledger) wake() {
	close(l.released)
	l.released = make(chan struct{})
}

// Use is the spending of a scope, and the most that its open reservations may cost.
type Use struct {
	Spent    Amount `json:"spent"`
	Open     Amount `json:"open"`
	Parallel int64  `json:"parallel"`
}

// Use returns the use of a scope.
func (l *Ledger) Use(scope Scope) Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.counted(l.keyOf(scope)).shown()
}

func (u use) shown() Use {
	return Use{Spent: u.spent.amount(), Open: u.open.amount(), Parallel: u.parallel}
}

// Forget removes a scope that never comes back, and returns its spending. It fails for a scope with open reservations.
func (l *Ledger) Forget(scope Scope) (Amount, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keyOf(scope)
	a := l.book.accounts[k]
	switch {
	case l.closed:
		return Amount{}, errClosed
	case a == nil:
		return Amount{}, nil
	case len(a.open) > 0:
		return Amount{}, fmt.Errorf("%s has %d open reservations", scope, len(a.open))
	}
	if err := l.write(record{Op: opForget, Of: []key{k}}); err != nil {
		return Amount{}, fmt.Errorf("forget the budget of %s: %w", scope, err)
	}
	l.compact()
	return a.spent.amount(), nil
}

// ForgetAt removes a scope whose spending is still exactly spent. A scope that has spent more since, or has open
// reservations, stays.
func (l *Ledger) ForgetAt(scope Scope, spent Amount) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keyOf(scope)
	a := l.book.accounts[k]
	switch {
	case l.closed:
		return errClosed
	case a == nil || len(a.open) > 0 || a.spent != spent.vector():
		return nil
	}
	if err := l.write(record{Op: opForget, Of: []key{k}}); err != nil {
		return fmt.Errorf("forget the budget of %s: %w", scope, err)
	}
	l.compact()
	return nil
}

// Scopes returns the names of scopes of one kind that have spent or reserved something, sorted. It begins after the
// name in after, and returns at most limit names.
func (l *Ledger) Scopes(kind, after string, limit int) []string {
	var names []string
	l.mu.Lock()
	for k := range l.book.accounts {
		if k.Kind == kind && k.ID > after {
			names = append(names, k.ID)
		}
	}
	l.mu.Unlock() // sorting many names takes longer than a request should wait
	slices.Sort(names)
	names = slices.Compact(names) // an outbox has an account for each day
	return names[:min(limit, len(names))]
}

const daySeconds = 24 * 60 * 60

// today returns the UTC day whose budget counts, in days since 1970. An earlier clock counts as day 1.
func (l *Ledger) today() int64 { return max(l.now().Unix()/daySeconds, 1) }

// turnDay returns today, and writes it down if it differs from the last noted day.
func (l *Ledger) turnDay() (int64, error) {
	today := l.today()
	if today == l.book.day {
		return today, nil
	}
	if err := l.write(record{Op: opDay, Day: today}); err != nil {
		return 0, fmt.Errorf("write the day: %w", err)
	}
	l.wake() // waiting requests check the new day's budget
	return today, nil
}

// keyOf returns the key of a scope in the ledger today.
func (l *Ledger) keyOf(scope Scope) key { return keyOn(l.today(), scope) }

// keyOn returns the key of a scope in the ledger on the given day.
func keyOn(day int64, scope Scope) key {
	k := key{Scope: scope}
	if scope.Kind == OutboxDay {
		k.Day = day
	}
	return k
}
