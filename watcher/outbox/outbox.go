package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox/compile"
	"torno/watcher/notice"
	"torno/watcher/outbox/identity"
	"torno/watcher/workspace"
)

// Settings is the configuration of one outbox.
type Settings struct {
	Dir             *delegation.Dir // opened by the caller
	Policy          compile.Policy
	MaxRunning      int
	Queue           int
	QueueBusy       bool // if its workspace is in use, a run waits instead of being refused
	MaxRequestBytes int64
	Tree            Tree // bounds of a tree of runs
	// Lock takes the lock against other watchers, unless it is already taken. Its error names the process that has the
	// lock; until Lock succeeds, the outbox is not served. Lock is nil if the caller holds the lock for as long as the
	// watcher runs.
	Lock func() error
	// Remade allows the outbox to continue in another directory of the same file system, if nothing is unfinished and
	// no request lies there: a person who runs the watcher by hand has made the directory anew.
	Remade bool
}

// beatAfter delays the heartbeat after a piece of news, so that several pieces share one.
const beatAfter = 200 * time.Millisecond

// Outbox is one served directory. Only its goroutine Watch reads requests. Runs write too; publishing puts their writes
// in order.
type Outbox struct {
	*Host
	*identity.Claim // knows which outbox the directory is
	Settings        Settings
	log             *slog.Logger

	// publishing is held while we check that a request is still there and write its response, so that no other writer
	// of ours comes between.
	publishing sync.Mutex

	Away         atomic.Bool  // the outbox is not served at present
	gone         *notice.Flag // up while the outbox is away
	files        *notice.Recurring
	room         *notice.Recurring
	wake         chan struct{} // a heartbeat is due
	owed         chan string   // requests whose answer could not be written
	board        *board
	trails       *trails
	rest         *workspace.Turn
	looks        looks
	seen         chan struct{} // closed when the outbox was listed once, or cannot be listed now
	writerPauses atomic.Int32  // pauses for writers of requests, see readSettled
}

// Listed returns a channel that is closed when Watch has listed the outbox once, or cannot list it now.
func (o *Outbox) Listed() <-chan struct{} { return o.seen }

// there reports whether an entry exists. If that cannot be found out, it returns true.
func (o *Outbox) there(name string) bool {
	_, err := o.Dir.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// misses reports whether an entry is gone. If the directory itself is gone from its path, it returns false.
func (o *Outbox) misses(name string) bool {
	_, err := o.Dir.Stat(name)
	return errors.Is(err, fs.ErrNotExist) && o.Dir.Alive() == nil
}

// hasCancel reports whether a cancel file of this name exists. It removes anything with that name that is not a regular
// file.
func (o *Outbox) hasCancel(name string) bool {
	stamp, err := o.Dir.Stat(name)
	if err != nil {
		return false
	}
	if stamp.Mode.IsRegular() {
		return true
	}
	o.discard(name)
	return false
}

// dropStale removes a sentinel that is older than a request which the host sees for the first time.
func (o *Outbox) dropStale(rawID string, request delegation.Stamp) {
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil {
		return
	}
	name := delegation.CancelName(id)
	if sentinel, err := o.Dir.Stat(name); err == nil && !delegation.SentinelCounts(request, sentinel, time.Now()) {
		o.discard(name)
	}
}

// discard removes a file of ours, or a used one of the client's. If it cannot be removed, that is the client's doing.
func (o *Outbox) discard(name string) {
	if o.ensureLock() != nil {
		return // the file may belong to the other watcher
	}
	crash.At("outbox.cleared")
	if err := o.Dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Debug("a file of the outbox cannot be removed", "file", name, "error", err)
	}
}

// Respond publishes the response to a request that was read, unless that request is gone: a response never outlives its
// request. If the request cannot be examined, Respond publishes nothing and the caller tries again.
func (o *Outbox) Respond(request, response string, read delegation.Reading, body delegation.Response) error {
	data, err := body.Encode()
	if err != nil {
		return fmt.Errorf("encode the response %s: %w", response, err)
	}
	o.publishing.Lock()
	defer o.publishing.Unlock()
	if there, err := o.StillThere(request, read); err != nil || !there {
		return err
	}
	crash.At("outbox.responded")
	if err := o.publish(response, data); err != nil {
		return fmt.Errorf("write the response %s: %w", response, err)
	}
	there, err := o.StillThere(request, read)
	if err != nil || !there {
		o.discard(response)
	}
	return err
}

// StillThere reports whether a request that was read is still under its name.
func (o *Outbox) StillThere(request string, read delegation.Reading) (bool, error) {
	there, err := o.Dir.StillHolds(request, read, o.Settings.MaxRequestBytes)
	if longer := o.longer(read); !there && err == nil && longer > 0 {
		return o.Dir.StillHolds(request, read, longer)
	}
	return there, err
}

// A configuration can set the limit for requests to mostRequest at most.
const mostRequest = 64 << 20

// longer returns the size of a request that may have been admitted under a higher limit than there is now, or 0.
func (o *Outbox) longer(read delegation.Reading) int64 {
	if read.Stamp.Size <= o.Settings.MaxRequestBytes || read.Stamp.Size > mostRequest {
		return 0
	}
	return read.Stamp.Size
}

// Beat writes watcher.json until ctx is done, and once more to say that the watcher stops.
func (o *Outbox) Beat(ctx context.Context, tick time.Duration, heartbeat func(stopping bool) delegation.Heartbeat) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-o.wake:
			_ = retry.Pause(ctx, beatAfter) // more news may come, or this news may pass
			o.PublishHeartbeat(heartbeat(false))
		case <-ticker.C:
			o.PublishHeartbeat(heartbeat(false))
		case <-ctx.Done():
			o.PublishHeartbeat(heartbeat(true))
			return
		}
	}
}

// PublishHeartbeat writes watcher.json.
func (o *Outbox) PublishHeartbeat(h delegation.Heartbeat) {
	if o.Away.Load() {
		return // leave the file: it tells which watcher served the outbox last
	}
	data, err := h.Encode()
	if err == nil {
		crash.At("outbox.beat")
		err = o.publish(delegation.HeartbeatName, data)
	}
	if err != nil {
		o.Stumble("write watcher.json", err)
	}
}

// NewOutbox returns an outbox that is not served yet.
func (h *Host) NewOutbox(settings Settings) *Outbox {
	if len(settings.Policy.Owners) == 0 && settings.Dir.Why() == nil {
		uid, _ := settings.Dir.Owner()
		settings.Policy.Owners = []uint32{uid} // the owner of a parent's own files: a child may have to run as that user
	}
	name, log := settings.Policy.Outbox, h.Log.With("outbox", settings.Policy.Outbox)
	box := &Outbox{
		Host: h, Claim: identity.NewClaim(name, settings.Dir, h.Journal, log), Settings: settings, log: log,
	}
	box.gone, box.files, box.room = h.Notices.Flag(box.Name), h.Notices.Recurring(box.Name), h.Notices.Recurring(box.Name)
	box.wake, box.owed, box.rest = make(chan struct{}, 1), make(chan string, maxDue), workspace.NewTurn()
	box.board = newBoard((*Admission).write)
	box.trails = &trails{remove: box.discard}
	box.seen = make(chan struct{})
	box.looks = newLooks()
	box.Claim.Remade = settings.Remade
	return box
}

// Identify finds out which outbox each configured directory is, before anything is read from an outbox and before any
// record is settled. look returns the identity of an outbox's directory.
func Identify(ctx context.Context, j *journal.Journal, boxes []*Outbox, look func(*Outbox) (inode.Directory, error)) (err error) {
	claims := make([]*identity.Claim, len(boxes))
	for i, box := range boxes {
		claims[i] = box.Claim
		if box.Here, err = look(box); err != nil {
			return err
		}
	}
	err = identity.Identify(ctx, j, claims)
	for _, box := range boxes {
		if !box.InOwnDirectory() {
			box.Away.Store(true)
			box.gone.Raise(delegation.NoticeOutbox, nil)
		}
	}
	return err
}

// ShowStatuses writes status files until ctx is done, and then those that are left.
func (o *Outbox) ShowStatuses(ctx context.Context) { o.board.loop(ctx) }

// TellSoon has a heartbeat sent soon, so that the clients learn the news.
func (o *Outbox) TellSoon() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
