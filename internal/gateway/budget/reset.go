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
		again := record{Op: opForget, Of: []key{k}}
		if len(l.book.accounts[k].open) > 0 {
			again = record{Op: opSpent, Of: []key{k}}
		}
		if err := l.write(again); err != nil {
			return Use{}, fmt.Errorf("reset the budget of %s: %w", scope, err)
		}
	}
	l.wake()
	l.compact()
	return was, nil
}
