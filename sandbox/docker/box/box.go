package box

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local/attest"
)

// Given is what is known of a sandbox from the beginning.
type Given struct {
	ID   sandbox.SandboxID
	Slot *mounts.Slot // nil where this process has not adopted it
	UID  uint32       // the user that it runs as; 0 where nothing says so
	// Wanted is what the finished sandbox should be; nil for one of an earlier life.
	Wanted *processes.Wanted
	Token  string // with which init says its end; "" for one of an earlier life
}

// Box is what this process knows of one sandbox. It is safe for concurrent use.
type Box struct {
	Given

	exit    atomic.Pointer[sandbox.Exit] // how it ended, as it was seen first
	asked   atomic.Bool                  // by us to end, with whichever signal
	killed  atomic.Bool                  // by us
	doubted atomic.Bool                  // the engine may believe that it never ran, and be wrong

	mu      sync.Mutex
	fresh   bool                    // made by us and never started
	spoiled bool                    // init's input was attached to, and let go of, before it began
	live    *types.HijackedResponse // the output from its first byte, until somebody opens it
	input   *types.HijackedResponse // init's standard input, and from the release on the agent's, until it is closed
	lasting bool                    // input can be attached to anew, which is known from the second attachment on
	held    bool                    // init was started and not released
	started time.Time               // when the engine said that it was
	death   *attest.Death           // init's, once it was attested
}

// New is the box of a sandbox that was created just now, and never started.
func New(g Given) *Box { return &Box{Given: g, fresh: true} }

// Found is the box of a sandbox that an earlier life has created.
func Found(g Given) *Box { return &Box{Given: g} }

// Adopt takes up how a container ended, if an earlier life has seen that, and whether its engine says that it never began, which may be
// wrong.
func (b *Box) Adopt(container string, unstarted bool) {
	b.doubted.Store(unstarted)
	b.takeUpExit(container)
}

// Exit is how the sandbox ended, nil where that was not seen.
func (b *Box) Exit() *sandbox.Exit { return b.exit.Load() }

// WillBeKilled notes that what ends the sandbox from now on is ours.
func (b *Box) WillBeKilled() { b.killed.Store(true) }

// IsDoubted says whether the engine may believe that the sandbox never ran, and be wrong.
func (b *Box) IsDoubted() bool { return b.doubted.Load() }

// WatchEnd takes a handle of init, by which its end is seen.
func (b *Box) WatchEnd(death *attest.Death) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchEnd(death)
}

// HangUp ends the streams that no attachment has.
func (b *Box) HangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropStreams()
	b.watchEnd(nil)
}

// dropStreams ends the streams. The lock is held.
func (b *Box) dropStreams() {
	for _, stream := range []*types.HijackedResponse{b.live, b.input} {
		if stream != nil {
			stream.Close()
		}
	}
	b.live, b.input, b.held = nil, nil, false
}
