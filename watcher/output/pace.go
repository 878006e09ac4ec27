package output

import (
	"context"
	"time"

	"torno/sandbox"
	"torno/watcher/limit"
)

// Bounds of the host's work for an agent's lines. The host reads each line, and for the same bytes a flood of short
// lines costs a hundred times as much as plain output. When the burst is used up, the child waits.
const (
	lineShare = 10 // a tenth of a core
	lineBurst = time.Second
	lineRest  = 100 * time.Millisecond // longest rest between two chunks
)

// Intake takes chunks for a child, at a pace at which the child's lines cost no more than their share of a core.
type Intake struct {
	child *Child
	share limit.Share
}

// NewIntake returns the intake of one attachment.
func NewIntake(o *Child) *Intake {
	return &Intake{o, limit.Share{Of: lineShare, Burst: lineBurst * lineShare, Longest: lineRest}}
}

// Take takes one chunk, and rests afterwards unless ctx is done.
func (i *Intake) Take(ctx context.Context, c sandbox.Chunk) {
	begin := time.Now()
	i.child.Take(c)
	if i.child.Agent {
		i.share.Pause(ctx, time.Since(begin))
	}
}
