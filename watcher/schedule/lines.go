package schedule

import (
	"container/list"

	"torno/sandbox"
)

// lineKey names the thing that runs stand in line for: a subagent, a directory or an outbox. Exactly one field is set;
// a subject names its outbox itself.
type lineKey struct {
	subject Subject
	outbox  string
	dir     sandbox.Directory
}

// lines holds one line for each lineKey in use. A run stands in each of its lines from its admission to its end. It may
// start when all of them have let it in:
//
//   - alone at its subagent, and alone at its workspace;
//   - with others at every directory above its workspace, and at its outbox.
//
// Runs that share a line let each other in. A run that must be alone waits for every earlier run in its line, and every
// later run waits for it. So two runs in equal or nested directories meet in one line, runs in separate directories do
// not, and no later run overtakes a waiting one. A run joins all its lines at once, in one order for all lines, so no
// two runs wait for each other.
//
// Joining or leaving costs one step for each line of the run, and one for each run that is let in because of it.
type lines struct {
	at    map[lineKey]*line
	steps int // number of entries looked at; a test checks the cost by it
}

// line holds the entries of one line in the order of joining.
type line struct {
	all   *list.List    // of *entry
	alone *list.List    // of *entry: only those that must be alone
	next  *list.Element // in all: the first entry that is not let in, or nil
	letIn int           // number of entries let in
	taken bool          // an entry that is let in must be alone
}

// entry is one run in one line.
type entry struct {
	reservation *reservation
	key         lineKey
	alone       bool
	letIn       bool
	inAll       *list.Element
	inAlone     *list.Element // nil unless alone
}

// reservation holds a run's entries in all its lines.
type reservation struct {
	ticket  *Ticket
	entries []*entry
	blocked int // how many entries are not let in
}

func newLines() *lines { return &lines{at: make(map[lineKey]*line)} }

// lineKeys lists the lines of a run: first those where it must be alone, beginning with its subagent's, then those that
// it shares. If the directory of an adopted run is not known, the run takes its whole outbox.
func (t *Ticket) lineKeys() (alone, shared []lineKey) {
	outbox := lineKey{outbox: t.Subject.Outbox}
	alone = append(alone, lineKey{subject: t.Subject})
	if t.Anywhere {
		return append(alone, outbox), nil
	}
	shared = append(shared, outbox)
	seen := make(map[sandbox.Directory]bool, len(t.Above))
	for i, dir := range t.Above {
		switch {
		case seen[dir]:
		case i == 0:
			alone = append(alone, lineKey{dir: dir})
		default:
			shared = append(shared, lineKey{dir: dir})
		}
		seen[dir] = true
	}
	return alone, shared
}

// join puts a run at the end of its lines.
func (ls *lines) join(t *Ticket) {
	t.reservation = &reservation{ticket: t}
	alone, shared := t.lineKeys()
	for _, at := range alone {
		ls.enter(t.reservation, at, true)
	}
	for _, at := range shared {
		ls.enter(t.reservation, at, false)
	}
}

func (ls *lines) enter(r *reservation, at lineKey, alone bool) {
	ls.steps++
	l := ls.at[at]
	if l == nil {
		l = &line{all: list.New(), alone: list.New()}
		ls.at[at] = l
	}
	e := &entry{reservation: r, key: at, alone: alone}
	r.entries = append(r.entries, e)
	e.inAll = l.all.PushBack(e)
	if alone {
		e.inAlone = l.alone.PushBack(e)
	}
	r.blocked++
	if l.next == nil {
		l.next = e.inAll
	}
	ls.advance(l)
}

// leave takes a run out of all its lines. It returns the runs that may start because of it.
func (ls *lines) leave(t *Ticket) (free []*Ticket) {
	if t.reservation == nil {
		return nil
	}
	for _, e := range t.reservation.entries {
		free = append(free, ls.remove(e)...)
	}
	t.reservation = nil
	return free
}

func (ls *lines) remove(e *entry) []*Ticket {
	ls.steps++
	l := ls.at[e.key]
	if l.next == e.inAll {
		l.next = e.inAll.Next()
	}
	l.all.Remove(e.inAll)
	if e.inAlone != nil {
		l.alone.Remove(e.inAlone)
	}
	if e.letIn {
		l.letIn--
		l.taken = l.taken && !e.alone
	}
	if l.all.Len() == 0 {
		delete(ls.at, e.key)
	}
	return ls.advance(l)
}

// advance lets in entries in the order of the line, as far as possible. It returns the runs that may start because of
// it.
func (ls *lines) advance(l *line) (free []*Ticket) {
	for l.next != nil {
		ls.steps++
		e := l.next.Value.(*entry)
		if l.taken || e.alone && l.letIn > 0 {
			return free
		}
		e.letIn = true
		l.letIn++
		l.taken = e.alone
		l.next = l.next.Next()
		e.reservation.blocked--
		if e.reservation.blocked == 0 {
			free = append(free, e.reservation.ticket)
		}
	}
	return free
}

// leaveDirs takes a run out of the lines of its directories. The run stays in the lines of its subagent and its outbox.
func (ls *lines) leaveDirs(t *Ticket) (free []*Ticket) {
	var kept []*entry
	for _, e := range t.reservation.entries {
		if e.key.dir == (sandbox.Directory{}) {
			kept = append(kept, e)
			continue
		}
		free = append(free, ls.remove(e)...)
	}
	t.reservation.entries = kept
	return free
}

// joinDirs puts a run at the end of the lines of its directories. The only run that can be there already is its
// subagent's next one, which waits for it in the subagent's line.
func (ls *lines) joinDirs(t *Ticket) {
	alone, shared := t.lineKeys()
	for _, at := range alone[1:] {
		ls.enter(t.reservation, at, true)
	}
	for _, at := range shared[1:] {
		ls.enter(t.reservation, at, false)
	}
}

// clash finds a run of another subagent that is in t's way, or returns nil. It skips runs if counts is false for them;
// few runs are skipped, because they are about to end.
func (ls *lines) clash(t *Ticket, counts func(*Ticket) bool) *Ticket {
	alone, shared := t.lineKeys()
	for _, at := range alone[1:] {
		if l := ls.at[at]; l != nil {
			if other := ls.find(l.all, t, counts); other != nil {
				return other
			}
		}
	}
	for _, at := range shared {
		if l := ls.at[at]; l != nil {
			if other := ls.find(l.alone, t, counts); other != nil {
				return other
			}
		}
	}
	return nil
}

func (ls *lines) find(among *list.List, t *Ticket, counts func(*Ticket) bool) *Ticket {
	for e := among.Front(); e != nil; e = e.Next() {
		ls.steps++
		if other := e.Value.(*entry).reservation.ticket; other.Subject != t.Subject && counts(other) {
			return other
		}
	}
	return nil
}

// newest returns the last run in a subagent's line, or nil.
func (ls *lines) newest(of Subject) *Ticket {
	l := ls.at[lineKey{subject: of}]
	if l == nil {
		return nil
	}
	return l.all.Back().Value.(*entry).reservation.ticket
}

// passOn gives a run's reservation to its next attempt. The next attempt keeps the run's position in each line and may
// start when the run is over.
func (r *reservation) passOn(to *Ticket) {
	r.ticket.reservation, r.ticket.nextAttempt = nil, to
	r.ticket, to.reservation = to, r
	r.blocked++
}
