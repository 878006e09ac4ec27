package budget

import "fmt"

// Reset starts a scope's budget anew, and returns the use that was thrown away. For a daily budget it resets the
// current day, with the spending noted under later days. Open reservations stay, and their cost counts.
func (l *Ledger) Reset(scope Scope) (Use, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Use{}, errClosed
	}
	today, err := l.turnDay()
	if err != nil {
		return Use{}, err
	}
	k := keyOn(today, scope)
	was := l.book.counted(k).shown()
	for _, k := range l.book.countedKeys(k) {
		// The line with what is open ahead is flushed: a power cut neither loses the reset nor counts what was ahead before.
		err := l.write(record{Op: opSpent, Of: []key{k}, Ahead: []ahead{{k, l.book.use(k).open.amount()}}})
		if err == nil && len(l.book.accounts[k].open) == 0 {
			err = l.write(record{Op: opForget, Of: []key{k}})
		}
		if err != nil {
			return Use{}, fmt.Errorf("reset the budget of %s: %w", scope, err)
		}
	}
	l.wake()
	l.compact()
	return was, nil
}
