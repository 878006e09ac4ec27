package schedule

import (
	"container/list"

	"torno/sandbox"
)

// spot is something that runs stand in line for: a subagent, a directory or an outbox. Exactly one field is set, besides
// the outbox that belongs to a subagent.
type spot struct {
	subject Subject
	outbox  string
	dir     sandbox.Directory
}

// lines are all the lines there are. A run stands in each of its lines from its admission to its end, and may start when it
// is let through in all of them:
//
//   - alone at its subagent, and alone at its workspace;
//   - with others at every directory above its workspace, and at its outbox.
//
// Runs that stand with others let each other through. A run that stands alone waits for every earlier one in its line, and
// every later one waits for it. So two runs in equal or nested directories meet in one line, runs beside each other do not,
// and no later run overtakes one that waits. Runs join all their lines at once, in one order for all lines, so no two wait
// for each other.
//
// Joining and leaving cost one step for each line of the run, and one for each run that is let through because of it.
type lines struct {
	at    map[spot]*line
	steps int // stands that were looked at: what all this costs
}

// line holds the stands at one spot in the order in which they joined.
type line struct {
	all   *list.List    // of *stand
	alone *list.List    // of *stand: those that stand alone
	next  *list.Element // in all: the first one that is not let through; nil where there is none
	open  int           // how many are let through
	taken bool          // one of them stands alone
}

// stand is a run's place in one line.
type stand struct {
	claim   *claim
	spot    spot
	alone   bool
	open    bool // it is let through
	inAll   *list.Element
	inAlone *list.Element // nil where it does not stand alone
}

// claim is all that a run stands in line for.
type claim struct {
	ticket  *Ticket
	stands  []*stand
	blocked int // how many of them are not let through
}

func newLines() *lines { return &lines{at: make(map[spot]*line)} }

// spots lists where a run stands: alone at the first ones, with others at the rest. Where nobody can tell which directory an
// adopted run works in, it takes its whole outbox.
func (t *Ticket) spots() (alone, shared []spot) {
	box := spot{outbox: t.Subject.Outbox}
	alone = append(alone, spot{subject: t.Subject})
	if t.Anywhere {
		return append(alone, box), nil
	}
	shared = append(shared, box)
	seen := make(map[sandbox.Directory]bool, len(t.Above))
	for i, dir := range t.Above {
		switch {
		case seen[dir]:
		case i == 0:
			alone = append(alone, spot{dir: dir})
		default:
			shared = append(shared, spot{dir: dir})
		}
		seen[dir] = true
	}
	return alone, shared
}

// join puts a run at the end of its lines.
func (ls *lines) join(t *Ticket) {
	t.claim = &claim{ticket: t}
	alone, shared := t.spots()
	for _, at := range alone {
		ls.stand(t.claim, at, true)
	}
	for _, at := range shared {
		ls.stand(t.claim, at, false)
	}
}

func (ls *lines) stand(c *claim, at spot, alone bool) {
	ls.steps++
	l := ls.at[at]
	if l == nil {
		l = &line{all: list.New(), alone: list.New()}
		ls.at[at] = l
	}
	st := &stand{claim: c, spot: at, alone: alone}
	c.stands = append(c.stands, st)
	st.inAll = l.all.PushBack(st)
	if alone {
		st.inAlone = l.alone.PushBack(st)
	}
	c.blocked++
	if l.next == nil {
		l.next = st.inAll
	}
	ls.advance(l)
}

// leave takes a run out of all its lines. It returns the runs that may start now and could not before.
func (ls *lines) leave(t *Ticket) (free []*Ticket) {
	if t.claim == nil {
		return nil
	}
	for _, st := range t.claim.stands {
		free = append(free, ls.step(st)...)
	}
	t.claim = nil
	return free
}

func (ls *lines) step(st *stand) []*Ticket {
	ls.steps++
	l := ls.at[st.spot]
	if l.next == st.inAll {
		l.next = st.inAll.Next()
	}
	l.all.Remove(st.inAll)
	if st.inAlone != nil {
		l.alone.Remove(st.inAlone)
	}
	if st.open {
		l.open--
		l.taken = l.taken && !st.alone
	}
	if l.all.Len() == 0 {
		delete(ls.at, st.spot)
	}
	return ls.advance(l)
}

// advance lets through what may be let through, in the order of the line.
func (ls *lines) advance(l *line) (free []*Ticket) {
	for l.next != nil {
		ls.steps++
		st := l.next.Value.(*stand)
		if l.taken || st.alone && l.open > 0 {
			return free
		}
		st.open = true
		l.open++
		l.taken = st.alone
		l.next = l.next.Next()
		if st.claim.blocked--; st.claim.blocked == 0 {
			free = append(free, st.claim.ticket)
		}
	}
	return free
}

// leaveDirs takes a run out of the lines of its directories. It stays in those of its subagent and its outbox.
func (ls *lines) leaveDirs(t *Ticket) (free []*Ticket) {
	var kept []*stand
	for _, st := range t.claim.stands {
		if st.spot.dir == (sandbox.Directory{}) {
			kept = append(kept, st)
			continue
		}
		free = append(free, ls.step(st)...)
	}
	t.claim.stands = kept
	return free
}

// joinDirs puts a run at the end of the lines of its directories. What is there already, its subagent's next run at most,
// waits for it in the subagent's line.
func (ls *lines) joinDirs(t *Ticket) {
	alone, shared := t.spots()
	for _, at := range alone[1:] {
		ls.stand(t.claim, at, true)
	}
	for _, at := range shared[1:] {
		ls.stand(t.claim, at, false)
	}
}

// clash finds a run of another subagent in a run's way that counts, or nil. Those that do not count are few: they hold
// slots.
func (ls *lines) clash(t *Ticket, counts func(*Ticket) bool) *Ticket {
	alone, shared := t.spots()
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
		if other := e.Value.(*stand).claim.ticket; other.Subject != t.Subject && counts(other) {
			return other
		}
	}
	return nil
}

// newest is the last run in a subagent's line, or nil.
func (ls *lines) newest(of Subject) *Ticket {
	l := ls.at[spot{subject: of}]
	if l == nil {
		return nil
	}
	return l.all.Back().Value.(*stand).claim.ticket
}

// bequeath gives a run's stands to its next attempt, which may start when the run is over: it stays where it was in line.
func (c *claim) bequeath(to *Ticket) {
	c.ticket.claim, c.ticket.heir = nil, to
	c.ticket, to.claim = to, c
	c.blocked++
}
