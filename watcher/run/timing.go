package run

import (
	"cmp"
	"time"

	"torno/internal/tree"
	"torno/watcher/workspace"
)

// Timing is how long the watcher waits for what may not come. A field that is zero has its usual value.
type Timing struct {
	Interrupt time.Duration // an agent that is ended politely has so long after INT, before it gets TERM
	Terminate time.Duration // and so long after TERM, before it gets KILL
	Kill      time.Duration // a sandbox may take so long to end after KILL, before it is removed by force
	Gone      time.Duration // the news of its end may take so long after that
	Grace     time.Duration // a call of a launcher may go on for so long when its run must end or the watcher stops working
	Last      time.Duration // killing, removing and writing down may go on for so long after a shutdown's budget
	Leave     time.Duration // Run waits so long for what has been told to end; longer than twice the grace, after which a launch is left
	Look      tree.Bounds   // of the look through a workspace that an answer waits for
}

// Usual fills in what is zero.
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
