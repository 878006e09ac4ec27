package gateway

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"torno/internal/boot"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/internal/retry"
	"torno/internal/socket"
)

// Bounds of one door.
const (
	maxConnections = 128
	maxDoorBodies  = 64 << 20 // bytes of requests in memory at once
)

// Door reports the state of a door.
type Door struct {
	Spec
	Socket string `json:"socket"`
	Left   string `json:"left"` // time until it closes by itself
	// Spent is the run's cost in the ledger, over all of its attempts.
	Spent budget.Amount `json:"spent"`
	Tally
}

// Tally counts the traffic of a door.
type Tally struct {
	Requests int64            `json:"requests"`        // including refused ones
	Open     int64            `json:"open"`            // requests under way
	Cost     budget.Amount    `json:"cost"`            // of ended requests
	Last     int64            `json:"last,omitempty"`  // requests that only the share for the final answer paid for
	Codes    map[string]int64 `json:"codes,omitempty"` // refused or cut off requests, by code
}

// door is the way out of one run's sandbox.
type door struct {
	g       *Gateway
	id      string
	until   boot.Moment
	ctx     context.Context // ends when the door closes
	cancel  context.CancelFunc
	takes   context.Context // ends when the door takes no more requests
	drains  context.CancelFunc
	bodies  memory
	slots   chan struct{} // one per connection
	running sync.WaitGroup
	record  *recorder // nil if the run's profile wants no record

	mu       sync.Mutex
	listener net.Listener // nil until the door listens
	now      Spec
	tally    Tally
	said     map[string]bool // codes that were logged already: each one once per door
	idle     map[*connection]bool
}

// listen makes the door's record and socket, and starts to take connections. It does nothing if the door listens already,
// or takes no more requests. The caller has locked the gateway.
func (d *door) listen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.takes.Err() != nil || d.listener != nil {
		return nil
	}
	dir, err := d.g.directory(d.id)
	if err != nil {
		return err
	}
	if d.now.Record {
		if d.record, err = newRecorder(d.g.Records, d.id, func(id string) bool { return d.g.doors[id] != nil }); err != nil {
			return err
		}
	}
	// The host's other users cannot enter this directory, so this mode only opens the socket to the child, whatever its
	// user id.
	listener, err := socket.Listen(dir, socketName, 0o666)
	if err != nil {
		err = errors.Join(err, d.record.close())
		d.record = nil
		return err
	}
	d.listener = listener
	d.running.Go(func() { d.accept(listener) })
	return nil
}

// listenLater tries to listen, at growing pauses, until it succeeds, the door closes or the gateway shuts. A door that
// an earlier gateway opened is its run's only way out.
func (d *door) listenLater() {
	for try := 1; retry.Pause(d.takes, retry.Backoff(try)) == nil; try++ {
		d.g.mu.Lock()
		err := d.listen()
		d.g.mu.Unlock()
		if err == nil {
			return
		}
		retry.Warn(d.g.Log, "open a door again", try, err)
	}
}

func (g *Gateway) newDoor(spec Spec, until boot.Moment) *door {
	d := &door{
		g: g, id: spec.ID, until: until, now: spec, bodies: memory{most: maxDoorBodies}, slots: make(chan struct{}, maxConnections),
		tally: Tally{Codes: map[string]int64{}}, said: map[string]bool{}, idle: map[*connection]bool{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.takes, d.drains = context.WithCancel(d.ctx)
	return d
}

// accept takes connections while the door is open. Connections above the bound wait in the kernel's queue, which is
// short.
func (d *door) accept(listener *net.UnixListener) {
	for try := 1; ; {
		select {
		case d.slots <- struct{}{}:
		case <-d.ctx.Done():
			return
		}
		conn, err := listener.AcceptUnix()
		if err != nil {
			<-d.slots
			if d.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			retry.Warn(d.g.Log, "take a connection of a door", try, err)
			_ = retry.Pause(d.ctx, retry.Backoff(try)) // the loop checks the context
			try++
			continue
		}
		try = 1
		d.running.Go(func() {
			defer func() { <-d.slots }()
			defer conn.Close()
			if d.admits(conn) {
				d.serve(conn)
			}
		})
	}
}

// admits reports whether the door serves the process that connected.
func (d *door) admits(conn *net.UnixConn) bool {
	peer := d.spec().Peer
	if peer.Anyone {
		return true
	}
	if peer.Cgroup == "" {
		d.count("peer_unset")
		d.sayOnce("peer_unset", "a door got a connection before the watcher said which processes it serves", nil)
		return false
	}
	ok, err := inGroup(conn, peer.Cgroup)
	if err != nil || !ok {
		d.count("peer")
		d.sayOnce("peer", "a process that is not in a door's sandbox reached the door", err)
	}
	return ok && err == nil
}

// expire closes the door when its time is over.
func (d *door) expire() {
	left, _ := d.until.Sub(boot.Now())
	alarm := boot.NewAlarm(left)
	defer alarm.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-alarm.C:
			if alarm.Rings() {
				d.g.Log.Warn("a door is closed because its time is over", "door", d.id)
				d.g.end(d)
				return
			}
		}
	}
}

// close cuts off all exchanges under way, and returns when no goroutine of the door runs any more.
func (d *door) close() {
	d.drain()
	d.cancel()
	d.running.Wait()
	if err := d.record.close(); err != nil {
		d.g.Log.Error("the record of a door is incomplete", "door", d.id, "error", err)
	}
}

// drain makes the door take no more requests.
func (d *door) drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drains()
	if d.listener != nil {
		d.listener.Close()
	}
	for c := range d.idle {
		c.conn.Close()
	}
}

// wait waits until no exchange is under way, or ctx ends.
func (d *door) wait(ctx context.Context) {
	quiet := make(chan struct{})
	go func() {
		d.running.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

func (d *door) spec() Spec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *door) change(spec Spec) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = spec
}

// sameAs compares a Spec with the first order for this door. It ignores the peer, which may change.
func (d *door) sameAs(spec Spec) bool {
	now := d.spec()
	now.Peer = spec.Peer
	return reflect.DeepEqual(now, spec)
}

func (d *door) show() Door {
	d.mu.Lock()
	defer d.mu.Unlock()
	left, _ := d.until.Sub(boot.Now())
	shown := Door{Spec: d.now, Left: left.Round(time.Second).String(), Tally: d.tally}
	shown.Codes = maps.Clone(d.tally.Codes)
	shown.Socket = filepath.Join(cmp.Or(d.g.Shown, d.g.Dir), d.id, socketName)
	for _, claim := range d.now.Claims {
		if claim.Scope.Kind == budget.Run {
			shown.Spent = d.g.Ledger.Use(claim.Scope).Spent
		}
	}
	return shown
}

// counts returns the door's counts.
func (d *door) counts() Tally {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := d.tally
	counts.Codes = maps.Clone(d.tally.Codes)
	return counts
}

func (d *door) count(code string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tally.Codes[code]++
}

// sayOnce logs the first trouble of each kind. Later ones are only counted.
func (d *door) sayOnce(code, what string, err error) {
	d.mu.Lock()
	first := !d.said[code]
	d.said[code] = true
	d.mu.Unlock()
	if !first {
		return
	}
	text := ""
	if err != nil {
		text = d.g.Scrub(err.Error())
	}
	d.g.Log.Warn("a door refused or lost something; further cases of this kind are only counted", "door", d.id, "code", code, "what", what, "error", text)
}

// begins counts a new request.
func (d *door) begins() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tally.Requests++
	d.tally.Open++
}

// ends reports a request that has ended.
func (d *door) ends(event Event) {
	d.mu.Lock()
	d.tally.Open--
	d.tally.Cost = d.tally.Cost.Plus(event.Cost)
	if event.Last {
		d.tally.Last++
	}
	if event.Code != "" {
		d.tally.Codes[event.Code]++
	}
	first := event.Last && d.tally.Last == 1 || event.Code == route.CodeBudget && d.tally.Codes[event.Code] == 1
	d.mu.Unlock()
	if first {
		d.g.keep(d)
	}
	d.g.totals.add(event)
	event = d.g.events.add(event)
	d.g.Log.Debug("an exchange has ended", "event", event.Number, "door", d.id, "route", event.Route, "status", event.Status, "code", event.Code, "ms", event.Took)
}

// rests notes whether a connection waits for a request. It returns false if the door takes no more requests.
func (d *door) rests(c *connection, resting bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !resting {
		delete(d.idle, c)
		return true
	}
	d.idle[c] = true
	return d.takes.Err() == nil
}
