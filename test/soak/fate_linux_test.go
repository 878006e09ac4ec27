package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"torno/test/house"
)

// fate does to a scene what was decided.
type fate struct {
	*scene
	points []string
	text   string // the configuration as it was written first
	among  []weighted[deed]

	settled settings
	doomed  bool // the watcher dies at a point, if it comes there
	alive   time.Time
	began   int64 // what the watcher held when it had begun
	said    int   // what the watchers before it have said
	visited int   // what the second watchers have said
	deaths  int
	done    map[deed]int
}

// strike does what it likes until ctx is done, and puts everything back then.
func (f *fate) strike(ctx context.Context, d dice) {
	for next := nextStroke(d, f.among, len(f.points)); f.rest(ctx, next.wait); next = nextStroke(d, f.among, len(f.points)) {
		f.do(next)
	}
	f.mourn()
	f.power.putBack(f)
	f.end(stroke{deed: deedKill, settled: settings{running: 4, shutdown: "cancel", extra: true}, point: -1})
}

// rest waits, while the watcher may die, and says whether to go on.
func (f *fate) rest(ctx context.Context, wait time.Duration) bool {
	over := time.After(wait)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		f.mourn()
		select {
		case <-over:
			return true
		case <-ctx.Done():
			return false
		case <-look.C:
		}
	}
}

// mourn starts another watcher where one has died at its point.
func (f *fate) mourn() {
	if !f.gone() {
		f.alive = time.Now()
		return
	}
	f.deaths++
	f.rise(stroke{settled: f.settled, point: -1})
	f.felt(span{deed: deedDown, begin: f.alive, kept: true})
}

// gone says whether the watcher has died by itself. Where it was not to, that is a fault.
func (f *fate) gone() bool {
	state, dead := f.Dead()
	if dead && !f.meant(state) {
		f.note(func() { f.odd = append(f.odd, "the watcher ended by itself: "+state.String()) })
	}
	return dead
}

// meant says whether a watcher has died at its point.
func (f *fate) meant(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return f.doomed && ok && status.Signal() == syscall.SIGKILL
}

// leaves says whether a watcher ended with the word that it leaves something to do. A watcher that is stopped while it begins may not
// have removed yet what its predecessor left, or not even have taken that up; the answers it owes none of, or does not know of any.
func (f *fate) leaves(state *os.ProcessState) bool {
	said := f.Said()[f.said:]
	owesNone := strings.Contains(said, "the watcher stopped and owes 0 responses")
	return state.ExitCode() == 4 && (owesNone || strings.Contains(said, "it was told to stop before it took up the runs of an earlier watcher"))
}

// isBetween says whether a watcher ended with the word that it was killed in the middle of a reload, and leaves all to the next start.
func (f *fate) isBetween(state *os.ProcessState) bool {
	return state.ExitCode() == 4 && strings.Contains(f.Said()[f.said:], "killed in the middle of a reload")
}

// felt notes what was done, until now.
func (f *fate) felt(s span) {
	s.end = time.Now()
	f.note(func() { f.spans = append(f.spans, s) })
	f.alive = s.end
}

// noted is felt for what says nothing of when the watcher died, if it did.
func (f *fate) noted(s span) {
	s.end = time.Now()
	f.note(func() { f.spans = append(f.spans, s) })
}

func (f *fate) do(n stroke) {
	f.done[n.deed]++
	switch n.deed {
	case deedKill, deedTerm, deedHurry, deedUpset:
		f.end(n)
	case deedReload:
		f.reload(n)
	case deedFreeze:
		f.freeze(2 * n.down)
	case deedSecond:
		f.visit(n)
	case deedAway:
		f.away(n)
	case deedOperator:
		f.cancelOne(n.which)
	default:
		f.power.strike(f, n)
	}
}

// end ends the watcher, one way or the other, and starts another one.
func (f *fate) end(n stroke) {
	s := span{deed: n.deed, begin: time.Now(), kept: n.deed == deedKill || n.deed == deedUpset || f.settled.shutdown == "keep"}
	f.flat()
	switch n.deed {
	case deedHurry:
		f.send(syscall.SIGTERM)
	case deedUpset:
		f.configure(n.settled)
		f.send(syscall.SIGHUP)
	}
	if n.deed != deedKill {
		<-time.After(n.down / 8)
	}
	if n.deed == deedTerm || n.deed == deedHurry {
		f.stop(syscall.SIGTERM)
	} else {
		f.stop(syscall.SIGKILL)
	}
	<-time.After(n.down)
	f.rise(n)
	f.felt(s)
}

// send has the watcher hear a signal, if it lives.
func (f *fate) send(signal syscall.Signal) {
	if err := syscall.Kill(f.PID(), signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		f.Error(err)
	}
}

// stop sends a signal and waits for the end. A point may come first.
func (f *fate) stop(signal syscall.Signal) {
	early := !strings.Contains(f.Said()[f.said:], " serving ")
	f.send(signal)
	for deadline := time.Now().Add(house.Patience); ; time.Sleep(3 * time.Millisecond) {
		state, dead := f.Dead()
		switch {
		case dead && signal != syscall.SIGKILL && !state.Success() && !f.meant(state) && !f.isBetween(state) && (!early || !f.leaves(state)):
			f.note(func() {
				f.odd = append(f.odd, fmt.Sprintf("told to stop with %s, the watcher ended with %s", signal, state))
			})
			return
		case dead:
			return
		case time.Now().After(deadline):
			f.Fatalf("the watcher does not end after %s\n%s", signal, f.Said())
		}
	}
}

// rise starts a watcher that serves. A watcher that is to die at a point may do so before.
func (f *fate) rise(n stroke) {
	f.configure(n.settled)
	for f.Env = f.doom(n); ; f.Env = f.doom(stroke{point: -1}) {
		f.said = len(f.Said())
		f.Launch()
		if f.up(time.Time{}) {
			f.began = f.held()
			return
		}
		if f.deaths++; !f.doomed {
			f.Fatalf("the watcher does not start\n%s", f.Said())
		}
	}
}

// doom is the environment of a watcher that is to die at a point.
func (f *fate) doom(n stroke) []string {
	if f.doomed = n.point >= 0; !f.doomed {
		return nil
	}
	return []string{fmt.Sprintf("TORNO_CRASH=%s:%d", f.points[n.point], n.pass)}
}

// up waits until a watcher serves that began later than another one, or has died.
func (f *fate) up(after time.Time) bool {
	for deadline := time.Now().Add(house.Patience); ; time.Sleep(3 * time.Millisecond) {
		if f.gone() {
			return false
		}
		status, err := f.Client.Status(f.Context())
		if err == nil && status.StartedAt.After(after) {
			return true
		}
		if time.Now().After(deadline) {
			f.Fatalf("the watcher does not serve: %v\n%s", err, f.Said())
		}
	}
}

// configure writes the configuration.
func (f *fate) configure(now settings) {
	text := strings.NewReplacer(
		"max_running: 4", fmt.Sprint("max_running: ", now.running), "running: cancel", "running: "+now.shutdown, "level: debug", "level: info",
	).Replace(f.text)
	if now.pool {
		text = strings.Replace(text, noPool, pool, 1)
		f.note(func() { f.pooled = true })
	}
	if !now.extra {
		text = strings.ReplaceAll(text, ", extra]", "]")
	}
	f.Must(os.WriteFile(f.Config, []byte(text), 0o600))
	f.settled = now
}

// reload has the watcher read another configuration.
func (f *fate) reload(n stroke) {
	begin := time.Now()
	status, err := f.Client.Status(f.Context())
	if err != nil || f.settled == n.settled {
		return // dead at its point, or there is nothing new
	}
	f.configure(n.settled)
	f.send(syscall.SIGHUP)
	if !f.up(status.StartedAt) {
		f.deaths++
		f.rise(stroke{settled: n.settled, point: -1})
	}
	f.felt(span{deed: n.deed, begin: begin, kept: true})
}

// freeze has the watcher stand still for a while.
func (f *fate) freeze(length time.Duration) {
	s := span{deed: deedFreeze, begin: time.Now(), kept: true}
	letOn := f.Stop()
	<-time.After(length)
	letOn()
	f.felt(s)
}

// visit has a second watcher come to all outboxes and go, every second time while the first one stands still. It must
// serve none, and name the watcher that does. It does not come where the first watcher is to die at its point: it would rightly take
// the place of the first, and would not know what ran. Nor does it come where no second watcher can be had.
func (f *fate) visit(n stroke) {
	if f.doomed || f.second == nil {
		f.done[n.deed+", and none could"]++
		return
	}
	s := span{deed: deedSecond, begin: time.Now(), kept: true}
	letOn := func() {}
	if n.live {
		letOn = f.Stop()
	}
	f.second.Launch()
	f.second.Eventually("the second watcher says who serves the outboxes", func() bool {
		if state, dead := f.second.Dead(); dead {
			f.Fatalf("the second watcher ended with %s\n%s", state, f.second.Said()[f.visited:])
		}
		return strings.Count(f.second.Said()[f.visited:], fmt.Sprintf("process %d, ", f.PID())) >= len(outboxes)
	})
	signal := syscall.SIGTERM
	if n.pass%2 == 0 {
		signal = syscall.SIGKILL
	}
	if err := f.second.Signal(signal); signal == syscall.SIGTERM && err != nil {
		f.note(func() { f.odd = append(f.odd, fmt.Sprintf("the second watcher ended with %v", err)) })
	}
	f.visited = len(f.second.Said())
	letOn()
	f.felt(s)
	if n.live {
		s.deed = deedFreeze
		f.felt(s)
	}
	if starts := f.second.Starts(); len(starts) > 0 {
		f.note(func() { f.odd = append(f.odd, fmt.Sprintf("the second watcher has started the sandboxes %v", starts)) })
	}
}

// cancelOne has an operator end a run, and not wait for that.
func (f *fate) cancelOne(which int) {
	who := subjects[which%len(subjects)]
	s := span{deed: deedOperator, begin: time.Now(), who: &who}
	ctx, cancel := context.WithTimeout(f.Context(), 200*time.Millisecond)
	defer cancel()
	_, _ = f.Client.Cancel(ctx, who.String()) // there may be nothing to end, and no watcher to end it
	f.felt(s)
}

// held is how many bytes the watcher holds, 0 when it is dead.
func (f *fate) held() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", f.PID()))
	if err != nil {
		return 0
	}
	var pages, resident int64
	if _, err := fmt.Sscan(string(data), &pages, &resident); err != nil {
		f.Error(err)
	}
	return resident * int64(os.Getpagesize())
}

// flat wants the watcher to hold little more than when it began.
func (f *fate) flat() {
	if now := f.held(); now > f.began+20<<20 {
		f.note(func() {
			f.odd = append(f.odd, fmt.Sprintf("the watcher held %d MiB and holds %d", f.began>>20, now>>20))
		})
	}
}
