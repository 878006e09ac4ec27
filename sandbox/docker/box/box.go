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

// Given holds the facts about a sandbox that are known from the beginning.
type Given struct {
	ID   sandbox.SandboxID
	Slot *mounts.Slot // nil if this process has not adopted it
	UID  uint32       // the user that it runs as; 0 if unknown
	// Wanted is the expected state of the finished sandbox; nil for a sandbox from an earlier life.
	Wanted *processes.Wanted
	Token  string // init marks its end with it; "" for a sandbox from an earlier life
}

// Box is this process's knowledge of one sandbox. It is safe for concurrent use.
type Box struct {
	Given

	exit    atomic.Pointer[sandbox.Exit] // how it ended, as first seen
	asked   atomic.Bool                  // we asked it to end, with any signal
	killed  atomic.Bool                  // we killed it
	doubted atomic.Bool                  // the engine may wrongly believe that it never ran

	mu      sync.Mutex
	fresh   bool                    // we made it, and it was never started
	spoiled bool                    // something attached to init's input, and let go, before init began
	live    *types.HijackedResponse // the output from its first byte, until somebody opens it
	input   *types.HijackedResponse // init's standard input; the agent's from the release until it is closed
	lasting bool                    // input can be attached to anew; known from the second attachment on
	held    bool                    // init was started and not released
	started time.Time               // when the engine's start call returned
	death   *attest.Death           // init's, once it was attested
}

// New returns the box of a sandbox that was just created and never started.
func New(g Given) *Box { return &Box{Given: g, fresh: true} }

// Found returns the box of a sandbox that an earlier life created.
func Found(g Given) *Box { return &Box{Given: g} }

// Adopt takes up the container's end, if an earlier life saw it. unstarted: the engine says that the container never
// began, which may be wrong.
func (b *Box) Adopt(container string, unstarted bool) {
	b.doubted.Store(unstarted)
	b.takeUpExit(container)
}

// Exit returns how the sandbox ended; nil if nothing saw it.
func (b *Box) Exit() *sandbox.Exit { return b.exit.Load() }

// WillBeKilled notes that from now on we are ending the sandbox.
func (b *Box) WillBeKilled() { b.killed.Store(true) }

// IsDoubted reports whether the engine may wrongly believe that the sandbox never ran.
func (b *Box) IsDoubted() bool { return b.doubted.Load() }

// WatchEnd takes a handle of init that shows init's end.
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
