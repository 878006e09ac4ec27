package watcher

import (
	"container/list"

	"torno/sandbox"
)

// spot is something that runs stand in line for: a subagent, a directory or an outbox. Exactly one field is set, besides
// the outbox that belongs to a subagent.
type spot struct {
	subject subject
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
	run     *run
	stands  []*stand
	blocked int // how many of them are not let through
}

func newLines() *lines { return &lines{at: make(map[spot]*line)} }

// spots lists where a run stands: alone at the first ones, with others at the rest. Where nobody can tell which directory an
// adopted run works in, it takes its whole outbox.
func (r *run) spots() (alone, shared []spot) {
	box := spot{outbox: r.box.name}
	alone = append(alone, spot{subject: r.subject()})
	if r.anywhere {
		return append(alone, box), nil
	}
	shared = append(shared, box)
	seen := make(map[sandbox.Directory]bool, len(r.above))
	for i, dir := range r.above {
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
func (ls *lines) join(r *run) {
	r.claim = &claim{run: r}
	alone, shared := r.spots()
	for _, at := range alone {
		ls.stand(r.claim, at, true)
	}
	for _, at := range shared {
		ls.stand(r.claim, at, false)
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
func (ls *lines) leave(r *run) (free []*run) {
	if r.claim == nil {
		return nil
	}
	for _, st := range r.claim.stands {
		free = append(free, ls.step(st)...)
	}
	r.claim = nil
	return free
}

func (ls *lines) step(st *stand) []*run {
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
func (ls *lines) advance(l *line) (free []*run) {
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
			free = append(free, st.claim.run)
		}
	}
	return free
}

// leaveDirs takes a run out of the lines of its directories. It stays in those of its subagent and its outbox.
func (ls *lines) leaveDirs(r *run) (free []*run) {
	var kept []*stand
	for _, st := range r.claim.stands {
		if st.spot.dir == (sandbox.Directory{}) {
			kept = append(kept, st)
			continue
		}
		free = append(free, ls.step(st)...)
	}
	r.claim.stands = kept
	return free
}

// joinDirs puts a run at the end of the lines of its directories. What is there already, its subagent's next run at most,
// waits for it in the subagent's line.
func (ls *lines) joinDirs(r *run) {
	alone, shared := r.spots()
	for _, at := range alone[1:] {
		ls.stand(r.claim, at, true)
	}
	for _, at := range shared[1:] {
		ls.stand(r.claim, at, false)
	}
}

// clash finds a run of another subagent in a run's way that counts, or nil. Those that do not count are few: they hold
// slots.
func (ls *lines) clash(r *run, counts func(*run) bool) *run {
	alone, shared := r.spots()
	for _, at := range alone[1:] {
		if l := ls.at[at]; l != nil {
			if other := ls.find(l.all, r, counts); other != nil {
				return other
			}
		}
	}
	for _, at := range shared {
		if l := ls.at[at]; l != nil {
			if other := ls.find(l.alone, r, counts); other != nil {
				return other
			}
		}
	}
	return nil
}

func (ls *lines) find(among *list.List, r *run, counts func(*run) bool) *run {
	for e := among.Front(); e != nil; e = e.Next() {
		ls.steps++
		if other := e.Value.(*stand).claim.run; other.subject() != r.subject() && counts(other) {
			return other
		}
	}
	return nil
}

// newest is the last run in a subagent's line, or nil.
func (ls *lines) newest(sub subject) *run {
	l := ls.at[spot{subject: sub}]
	if l == nil {
		return nil
	}
	return l.all.Back().Value.(*stand).claim.run
}

// bequeath gives a run's stands to its next attempt, which may start when the run is over: it stays where it was in line.
func (c *claim) bequeath(to *run) {
	c.run.claim, c.run.heir = nil, to
	c.run, to.claim = to, c
	c.blocked++
}
