package run

import (
	"cmp"
	"time"

	"torno/internal/tree"
	"torno/watcher/workspace"
)

// Timing says how long the watcher waits for things that may never come. A field that is zero has its usual value.
type Timing struct {
	Interrupt time.Duration // from INT to TERM, for an agent that is ended politely
	Terminate time.Duration // from TERM to KILL
	Kill      time.Duration // from KILL until the sandbox is removed by force
	Gone      time.Duration // from the forced removal until the news of the sandbox's end must be here
	Grace     time.Duration // for a launcher call to go on when its run must end or the watcher stops working
	Last      time.Duration // after a shutdown's budget, for killing, removing and writing down
	Leave     time.Duration // for work to end that was told to end; longer than twice Grace, after which a launch is left behind
	Look      tree.Bounds   // bounds of the look through a workspace before the answer
}

// Usual returns t with the usual values in place of zeros.
func (t Timing) Usual() Timing {
	t.Interrupt = cmp.Or(t.Interrupt, 10*time.Second)
	t.Terminate = cmp.Or(t.Terminate, 5*time.Second)
	t.Kill = cmp.Or(t.Kill, 10*time.Second)
	t.Gone = cmp.Or(t.Gone, 10*time.Second)
	t.Grace = cmp.Or(t.Grace, 5*time.Second)
	t.Last = cmp.Or(t.Last, time.Minute)
	t.Leave = cmp.Or(t.Leave, 15*time.Second)
	t.Look = cmp.Or(t.Look, workspace.BeforeAnswer)
	return t
}
