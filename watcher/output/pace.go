package output

import (
	"context"
	"time"

	"torno/sandbox"
	"torno/watcher/limit"
)

// What an agent's lines may cost the host: each is read, and a flood of short ones costs a hundred times what bytes cost. Behind the
// burst the child waits.
const (
	lineShare = 10 // a tenth of a core
	lineBurst = time.Second
	lineRest  = 100 * time.Millisecond // at most between two chunks
)

// Intake takes chunks for a child, at a pace at which its lines cost no more than their share.
type Intake struct {
	child *Child
	share limit.Share
}

// NewIntake is the intake of one attachment.
func NewIntake(o *Child) *Intake {
	return &Intake{o, limit.Share{Of: lineShare, Burst: lineBurst * lineShare, Longest: lineRest}}
}

// Take consumes one chunk, and rests afterwards unless ctx is done.
func (i *Intake) Take(ctx context.Context, c sandbox.Chunk) {
	begin := time.Now()
	i.child.Take(c)
	if i.child.Agent {
		i.share.Pause(ctx, time.Since(begin))
	}
}
