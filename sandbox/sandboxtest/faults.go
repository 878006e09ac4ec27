package sandboxtest

// Op is a step at which a test can stop or fail the fake.
type Op string

// The steps: the methods of Launcher and Attachment, and init's work in the sandbox before its started line.
const (
	OpCheck   Op = "check"
	OpSite    Op = "site"
	OpCreate  Op = "create"
	OpStart   Op = "start"
	OpOpen    Op = "open"
	OpAttest  Op = "attest"
	OpRelease Op = "release"
	OpList    Op = "list"
	OpRemove  Op = "remove"
	OpSignal  Op = "signal"
	OpWait    Op = "wait"
	OpPrepare Op = "prepare"
	OpFurnish Op = "furnish"
	OpInit    Op = "init" // failing it is a launch failure: a failed line and exit 125
)

// calls counts the calls of one Op, and holds the test's plans for them.
type calls struct {
	count         int
	before, after func() // or nil
	faults        []fault
}

// fault is an error that call number nth returns.
type fault struct {
	nth   int
	after bool
	err   error
}

// Fail makes the nth call from now on fail before it does anything; 1 is the next call.
func (w *World) Fail(op Op, nth int, err error) { w.plan(op, fault{nth, false, err}) }

// FailAfter makes the nth call from now on fail although it did its work, like a launcher that starts the sandbox and
// then loses the connection.
func (w *World) FailAfter(op Op, nth int, err error) { w.plan(op, fault{nth, true, err}) }

// Before makes every call run hook in the caller's goroutine before the call does anything. A hook that receives from a
// channel stops the caller there. A new hook replaces the old hook; nil removes it.
func (w *World) Before(op Op, hook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.op(op).before = hook
}

// After sets a hook like Before, for the moment when the work is done and the caller does not know it yet.
func (w *World) After(op Op, hook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.op(op).after = hook
}

// Calls returns how often a step was begun, whatever became of it.
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

// op returns the entry of an Op. The caller holds the lock.
func (w *World) op(op Op) *calls {
	if w.calls[op] == nil {
		w.calls[op] = &calls{}
	}
	return w.calls[op]
}

// step runs one call with its hooks and faults. Before the effect it asks alive whether the caller is still there.
func (w *World) step(op Op, alive func() error, effect func() error) error {
	call := w.count(op)
	call.before()
	if err := alive(); err != nil {
		return err
	}
	if call.early != nil {
		return call.early
	}
	if err := effect(); err != nil {
		return err
	}
	call.after()
	return call.late
}

// planned holds the hooks and errors for one call.
type planned struct {
	before, after func()
	early, late   error
}

// count counts a call and returns the plan for it.
func (w *World) count(op Op) planned {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.op(op)
	c.count++
	call := planned{before: orNothing(c.before), after: orNothing(c.after)}
	for _, f := range c.faults {
		switch {
		case f.nth != c.count:
		case f.after:
			call.late = f.err
		default:
			call.early = f.err
		}
	}
	return call
}

func orNothing(hook func()) func() {
	if hook == nil {
		return func() {}
	}
	return hook
}
