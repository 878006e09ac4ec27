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
	Dir             *delegation.Dir // open
	Policy          compile.Policy
	MaxRunning      int
	Queue           int
	QueueBusy       bool // a run whose workspace is in use waits instead of being refused
	MaxRequestBytes int64
	Tree            Tree // what a tree of runs may grow to
	// Lock takes the lock against other watchers unless it is held, and says who else has it. Until then the outbox is not
	// served. It is nil where the caller has the lock for as long as the watcher runs.
	Lock func() error
	// Remade has the outbox go on in another directory of the same file system, where nothing is unfinished and no request lies there: whoever
	// runs the watcher by hand has made the directory anew.
	Remade bool
}

// beatAfter is how long after a piece of news its heartbeat is sent, so that several share one.
const beatAfter = 200 * time.Millisecond

// Outbox is one served directory. Its goroutine, Watch, is the only one that reads requests; writing is done by the runs
// too and is ordered by publishing.
type Outbox struct {
	*Host
	*identity.Claim // which outbox the directory is
	Settings        Settings
	log             *slog.Logger

	// publishing makes looking whether a request is still there and writing its response one step among ourselves.
	publishing sync.Mutex

	Away   atomic.Bool  // it is not served at the moment
	gone   *notice.Flag // the flag that is up while it is away
	files  *notice.Recurring
	room   *notice.Recurring
	wake   chan struct{} // a heartbeat is due
	owed   chan string   // requests whose answer could not be written
	board  *board
	trails *trails
	rest   *workspace.Turn
	seen   chan struct{} // closed when it was listed once, or cannot be now
}

// Listed is closed when Watch has listed the outbox once, or cannot list it now.
func (o *Outbox) Listed() <-chan struct{} { return o.seen }

// there says whether an entry is there, as far as can be told.
func (o *Outbox) there(name string) bool {
	_, err := o.Dir.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// misses says whether an entry is gone. It says no when the directory itself is gone from its path.
func (o *Outbox) misses(name string) bool {
	_, err := o.Dir.Stat(name)
	return errors.Is(err, fs.ErrNotExist) && o.Dir.Alive() == nil
}

// hasCancel says whether there is a cancel file of this name. Anything but a regular file does not count, and is removed.
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

// dropStale removes a sentinel that was there before the request which the host sees for the first time.
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

// discard removes a file of ours or a spent one of the client's. What cannot be removed is the client's own doing.
func (o *Outbox) discard(name string) {
	if o.ensureLock() != nil {
		return // it may be the other watcher's
	}
	crash.At("outbox.cleared")
	if err := o.Dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Debug("a file of the outbox cannot be removed", "file", name, "error", err)
	}
}

// Respond publishes the response to a request that was read, unless that request is gone: a response never outlives its
// request. Where the request cannot be looked at, nothing is published and the caller tries again.
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

// StillThere says whether a request that was read is still the one under its name.
func (o *Outbox) StillThere(request string, read delegation.Reading) (bool, error) {
	return o.Dir.StillHolds(request, read, o.Settings.MaxRequestBytes)
}

// Beat writes watcher.json until ctx is done, and once more to say that the watcher stops.
func (o *Outbox) Beat(ctx context.Context, tick time.Duration, heartbeat func(stopping bool) delegation.Heartbeat) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-o.wake:
			_ = retry.Pause(ctx, beatAfter) // more may come, or this be over
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
		return // what lies there tells who served the outbox last
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

// NewOutbox is an outbox that is not served yet.
func (h *Host) NewOutbox(settings Settings) *Outbox {
	if len(settings.Policy.Owners) == 0 && settings.Dir.Why() == nil {
		uid, _ := settings.Dir.Owner()
		settings.Policy.Owners = []uint32{uid} // a parent's own files, where a child must run as their owner
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
	box.Claim.Remade = settings.Remade
	return box
}

// Identify finds out which outbox each configured directory is. look looks at a directory. It comes before anything is read from
// an outbox, and before any record is settled.
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

// ShowStatuses writes status files until ctx is done, and then what is left.
func (o *Outbox) ShowStatuses(ctx context.Context) { o.board.loop(ctx) }

// TellSoon has the clients told the news by a heartbeat.
func (o *Outbox) TellSoon() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
