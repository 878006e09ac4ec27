package soak

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"torno/test/house"
)

// dice are where all decisions of a round come from.
type dice struct{ *rand.Rand }

// throw gives clients and fate dice of their own, so that neither's decisions depend on how often the other decided.
func throw(seed uint64, player uint64) dice { return dice{rand.New(rand.NewPCG(seed, player))} }

const (
	clientsDice = 1
	fatesDice   = 2
)

// between is a time from a range.
func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64(to-from)+1))
}

// weighted is a choice and how often it is made, in proportion to others.
type weighted[T any] struct {
	of     T
	weight int
}

func choose[T any](d dice, among []weighted[T]) T {
	sum := 0
	for _, w := range among {
		sum += w.weight
	}
	n := d.IntN(sum)
	for _, w := range among {
		if n -= w.weight; n < 0 {
			return w.of
		}
	}
	panic("unreachable")
}

// act is what a client does with one of its subagents.
type act string

const (
	actAsk       act = "ask"
	actSupersede act = "supersede"
	actCancel    act = "cancel"
	actTakeAway  act = "take away"
	actAgain     act = "again"
	actNonsense  act = "nonsense"
	actCollect   act = "collect"
)

var acts = []weighted[act]{
	{actAsk, 40}, {actCollect, 30}, {actCancel, 8}, {actSupersede, 6}, {actTakeAway, 6}, {actAgain, 6}, {actNonsense, 4},
}

// step is one decision of the clients. Where it does not fit what is there, nothing is done.
type step struct {
	wait    time.Duration
	act     act
	who     int // of the subjects
	kind    *kind
	sharing workspaceSharing
	profile string
	which   int           // of whatever there is to choose among
	age     time.Duration // that a file claims to have; below 0 its time lies ahead

	pathOnly bool // it goes by the outbox's path, wherever that leads; others hold the directory
}

// ages are those of requests and sentinels. Some are too far away for a request.
var ages = []weighted[time.Duration]{{0, 32}, {20 * time.Hour, 2}, {-20 * time.Hour, 2}, {30 * 24 * time.Hour, 1}, {-30 * 24 * time.Hour, 1}}

// tooFar says whether a request of such an age is to be refused.
func tooFar(age time.Duration) bool { return age.Abs() > 7*24*time.Hour }

// workspaceSharing says with which other subagents a run shares its workspace.
type workspaceSharing int

const (
	ownWorkspace   workspaceSharing = iota
	sharedInOutbox                  // with other subagents of the outbox
	sharedByAll                     // with other outboxes
)

var (
	sharings = []weighted[workspaceSharing]{{ownWorkspace, 8}, {sharedInOutbox, 1}, {sharedByAll, 1}}
	profiles = []weighted[string]{{"", 6}, {profileAgain, 3}, {profileExtra, 1}}
)

const (
	profileAgain = "again" // a lost run is attempted a second time
	profileExtra = "extra" // comes and goes with the configuration
)

func nextStep(d dice) step {
	return step{
		wait: d.between(5*time.Millisecond, 200*time.Millisecond), act: choose(d, acts), who: d.IntN(len(subjects)),
		kind: choose(d, kinds), sharing: choose(d, sharings), profile: choose(d, profiles), which: d.IntN(1 << 20),
		age: choose(d, ages), pathOnly: d.IntN(2) == 0,
	}
}

// deed is what fate does.
type deed string

const (
	deedKill     deed = "kill the watcher"
	deedTerm     deed = "tell the watcher to stop"
	deedHurry    deed = "tell the watcher to stop, twice"
	deedReload   deed = "have the watcher reload"
	deedUpset    deed = "kill the watcher while it reloads"
	deedStop     deed = "stop the engine"
	deedSlay     deed = "kill the engine"
	deedHang     deed = "hang the engine"
	deedPower    deed = "cut the power"
	deedBoth     deed = "kill the engine and the watcher"
	deedKeeper   deed = "kill a keeper"
	deedSentry   deed = "kill a sentry"
	deedPair     deed = "kill a keeper and its sentry"
	deedOrphan   deed = "kill a keeper and the watcher"
	deedAll      deed = "kill all keepers and their sentries"
	deedFreeze   deed = "have the watcher stand still"
	deedSecond   deed = "have a second watcher come and go"
	deedRemove   deed = "remove a container"
	deedExchange deed = "exchange the engine"
	deedOperator deed = "cancel as an operator"
	deedAway     deed = "have another directory at an outbox's path"
	deedDown     deed = "the watcher was down"               // noted, not chosen
	deedBack     deed = "the watcher meets its engine again" // noted, not chosen
)

var (
	watchersFate = []weighted[deed]{{deedKill, 5}, {deedTerm, 2}, {deedHurry, 1}, {deedReload, 2}, {deedUpset, 1}, {deedFreeze, 2}, {deedSecond, 2}, {deedAway, 3}, {deedOperator, 1}, {deedRemove, 1}}
	enginesFate  = []weighted[deed]{{deedStop, 3}, {deedSlay, 4}, {deedHang, 2}, {deedPower, 1}, {deedRemove, 5}, {deedExchange, 3}}
	keepersFate  = []weighted[deed]{{deedKeeper, 4}, {deedSentry, 4}, {deedPair, 2}, {deedOrphan, 3}, {deedAll, 1}}
	besideThem   = []weighted[deed]{{deedKill, 5}, {deedTerm, 2}, {deedHurry, 1}, {deedReload, 2}, {deedUpset, 1}, {deedFreeze, 2}, {deedSecond, 2}, {deedAway, 3}, {deedOperator, 1}, {deedPair, 1}}
	tempers      = map[string][][]weighted[deed]{
		house.Docker: {watchersFate, enginesFate, slices.Concat([]weighted[deed]{{deedBoth, 4}}, watchersFate, enginesFate)},
		house.GVisor: {besideThem, keepersFate, slices.Concat(besideThem, keepersFate)},
	}
)

// stroke is one decision of fate.
type stroke struct {
	wait    time.Duration
	deed    deed
	down    time.Duration // how long what was ended stays so
	live    bool          // from then on the engine's containers survive it; of two that are killed, the watcher is first
	settled settings      // from then on
	point   int           // at which the next watcher dies, -1 for none
	pass    int           // when it comes there for the pass-th time
	which   int
}

// settings are what changes in the configuration.
type settings struct {
	running  int
	shutdown string
	extra    bool
	pool     bool // sandboxes are made ahead of runs
}

var shutdowns = []weighted[string]{{"keep", 2}, {"cancel", 1}, {"drain", 1}}

func nextStroke(d dice, among []weighted[deed], points int) stroke {
	s := stroke{
		wait: d.between(200*time.Millisecond, 4*time.Second), deed: choose(d, among), down: d.between(0, 1500*time.Millisecond),
		live:    d.IntN(2) == 0,
		settled: settings{running: 2 + d.IntN(3), shutdown: choose(d, shutdowns), extra: d.IntN(3) > 0, pool: d.IntN(2) == 0},
		point:   d.IntN(2*points) - points, pass: 1 + d.IntN(4), which: d.IntN(1 << 20),
	}
	s.point = max(s.point, -1)
	return s
}

// TestDecisionsFollowFromTheSeed: what is decided for one seed is decided again, and for another one is not.
func TestDecisionsFollowFromTheSeed(t *testing.T) {
	decide := func(seed uint64) (all []any) {
		c, f := throw(seed, clientsDice), throw(seed, fatesDice)
		for range 100 {
			all = append(all, nextStep(c), nextStroke(f, tempers[house.Docker][2], 30))
		}
		return all
	}
	if !reflect.DeepEqual(decide(7), decide(7)) {
		t.Error("a seed decides differently the second time")
	}
	if slices.EqualFunc(decide(7), decide(8), func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
		t.Error("two seeds decide the same")
	}
}
