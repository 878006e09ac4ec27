package sandboxtest

import "slices"

// Op is a step at which a test can stop or fail the fake.
type Op string

// The steps: the methods of Launcher and Attachment, and what init does in the sandbox before its started line.
const (
	OpCheck  Op = "check"
	OpCreate Op = "create"
	OpStart  Op = "start"
	OpOpen   Op = "open"
	OpList   Op = "list"
	OpRemove Op = "remove"
	OpSignal Op = "signal"
	OpWait   Op = "wait"
	OpInit   Op = "init" // failing it is a launch failure: a failed line and exit 125
)

// calls is what is known and planned of one Op.
type calls struct {
	count         int
	before, after []func()
	faults        []fault
}

// fault is an error that the call number nth is to return.
type fault struct {
	nth   int
	after bool
	err   error
}

// Fail makes the nth call from now on (1 is the next one) fail without having done anything.
func (w *World) Fail(op Op, nth int, err error) { w.plan(op, fault{nth, false, err}) }

// FailAfter makes the nth call from now on fail although it did its work: an engine that starts the container and
// then loses the connection.
func (w *World) FailAfter(op Op, nth int, err error) { w.plan(op, fault{nth, true, err}) }

// Before has hook run in the caller's goroutine at the beginning of every call, before anything was done. A hook that
// receives from a channel stops the caller there.
func (w *World) Before(op Op, hook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.op(op).before = append(w.op(op).before, hook)
}

// After is Before for the moment when the work is done and the caller does not know it yet.
func (w *World) After(op Op, hook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.op(op).after = append(w.op(op).after, hook)
}

// Calls is how often a step was begun, whatever became of it.
func (w *World) Calls(op Op) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.op(op).count
}

func (w *World) plan(op Op, f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.nth += w.op(op).count
	w.op(op).faults = append(w.op(op).faults, f)
}

// op is the entry of an Op. The lock is held.
func (w *World) op(op Op) *calls {
	if w.calls[op] == nil {
		w.calls[op] = &calls{}
	}
	return w.calls[op]
}

// step runs one call with its hooks and faults. alive is asked around the effect: whether the caller still is there.
func (w *World) step(op Op, alive func() error, effect func() error) error {
	before, after, early, late := w.count(op)
	for _, hook := range before {
		hook()
	}
	if err := alive(); err != nil {
		return err
	}
	if early != nil {
		return early
	}
	if err := effect(); err != nil {
		return err
	}
	for _, hook := range after {
		hook()
	}
	if late != nil {
		return late
	}
	return nil
}

// count counts a call and says what is planned for it.
func (w *World) count(op Op) (before, after []func(), early, late error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.op(op)
	c.count++
	for _, f := range c.faults {
		switch {
		case f.nth != c.count:
		case f.after:
			late = f.err
		default:
			early = f.err
		}
	}
	return slices.Clone(c.before), slices.Clone(c.after), early, late
}
