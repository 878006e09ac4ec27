package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/boot"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/notice"
	"torno/watcher/output"
)

// attendance is one attachment to a run's sandbox, from Open until the attachment or the sandbox ends.
type attendance struct {
	r       *runner
	att     sandbox.Attachment
	held    *notice.Flag
	ctx     context.Context // done when the attendance is over
	leave   context.CancelFunc
	exited  chan struct{} // closed when exit and err are set
	exit    sandbox.Exit
	err     error
	drained chan struct{}  // closed when the output ended
	holding chan struct{}  // closed when init says that it holds
	started chan time.Time // the time in init's started line
	began   chan struct{}  // closed when the started line has come, in this attachment or an earlier one
	running chan struct{}  // poked when the journal is to hear that the agent runs
	paused  chan struct{}  // poked when the questions that wait have changed
	work    sync.WaitGroup

	// For record.
	noted     bool // the journal needs to hear nothing more about the agent's start
	noteTries int  // failed tries to tell the journal
	noteAgain time.Time
}

// attend attaches to the sandbox and releases it, unless it is released already. It stays until the sandbox has ended
// or the connection broke.
func (r *runner) attend(held *notice.Flag) (sandbox.Exit, error) {
	a := &attendance{
		r: r, held: held,
		exited: make(chan struct{}), drained: make(chan struct{}), holding: make(chan struct{}), started: make(chan time.Time, 1), began: make(chan struct{}),
		running: make(chan struct{}, 1), paused: make(chan struct{}, 1),
	}
	if err := a.attach(); err != nil {
		return sandbox.Exit{}, err
	}
	held.Lower() // attaching succeeded
	a.ctx, a.leave = context.WithCancel(r.runs.Life)
	defer a.leave()
	r.out.OnStarted = func(at time.Time) {
		a.started <- at
		close(a.began)
	}
	if r.out.Started {
		close(a.began)
	}
	r.out.OnHolding = sync.OnceFunc(func() { close(a.holding) })
	a.work.Go(a.read)
	a.work.Go(a.wait)
	var err error
	if !r.Standing().Phase.IsReleased() {
		err = a.release()
	}
	if err == nil {
		err = a.stay()
	}
	err = errors.Join(err, a.att.Close())
	a.leave()
	a.join()
	a.lateStart()
	return a.exit, err
}

// stay follows the agent to its end.
func (a *attendance) stay() error {
	if !a.r.spec.Process.Stdin {
		a.att.Input().Close()
	}
	a.work.Go(func() { a.r.workplace.watch(a.ctx, a.began, a.r.handle) })
	a.work.Go(a.listen)
	if a.r.inputs.takes {
		a.work.Go(a.feed)
	}
	a.work.Go(func() { a.r.desk.Expire(a.ctx) })
	a.work.Go(a.record)
	a.work.Go(a.ask)
	a.watch()
	a.drain()
	return a.err
}

func (a *attendance) attach() error {
	r := a.r
	if !r.Standing().Phase.IsReleased() {
		return a.attachFirst()
	}
	return r.runs.calls.once(a.held, func(ctx context.Context) (err error) {
		crash.At("run.opened")
		a.att, err = r.launcher.Open(ctx, r.handle, r.out.Cursor)
		return err
	})
}

// attachFirst attaches to a sandbox that holds.
func (a *attendance) attachFirst() (err error) {
	r := a.r
	launcher, h, cursor := r.launcher, r.handle, r.out.Cursor
	a.att, err = launching(r.runs.calls, r.Run, a.held, launchStep[sandbox.Attachment]{
		budget: callBudget,
		call: func(ctx context.Context) (sandbox.Attachment, error) {
			crash.At("run.opened")
			return launcher.Open(ctx, h, cursor)
		},
		late: func(att sandbox.Attachment, err error) {
			if err == nil {
				att.Close()
			}
			r.runs.Removals.removeLeft(launcher, h)
		},
	})
	if errors.Is(err, errLeftCall) {
		return r.gaveUpCall("attach to the sandbox")
	}
	return err
}

// lateStart takes a started line that came after watch had returned: the sandbox has ended since, or the next attachment
// will not see that line again.
func (a *attendance) lateStart() {
	select {
	case at := <-a.started:
		a.noteStart(at)
	default:
	}
}

// join waits for the attendance's goroutines. One of them may hang at a disk after the attachment broke. Then only join
// sees that the run must end, and it removes the sandbox.
func (a *attendance) join() {
	joined := make(chan struct{})
	a.r.runs.carried.Go(func() { a.work.Wait(); close(joined) })
	noted, removed := false, false
	for try := 1; ; try++ {
		again := time.NewTimer(retry.Backoff(try))
		select {
		case <-joined:
			again.Stop()
			return
		case <-again.C:
		}
		if removed || !a.hasBroken() || !a.r.overdue() {
			continue
		}
		if noted = noted || a.r.noteEnding(); noted {
			err := a.r.runs.Removals.remove(a.held, a.r.launcher, a.r.handle)
			if removed = err == nil; removed {
				a.r.log.Error("a sandbox could not be watched while a disk hangs; it is removed", "run", a.r.hash)
			} else {
				retry.Warn(a.r.log, "remove a sandbox that cannot be watched while a disk hangs", try, err)
			}
		}
	}
}

// hasBroken reports whether the attachment to a released sandbox broke off, on the site that has the sandbox.
func (a *attendance) hasBroken() bool {
	select {
	case <-a.exited:
		return a.err != nil && !errors.Is(a.err, sandbox.ErrOtherSite) && a.r.Standing().Phase.IsReleased()
	default:
		return false
	}
}

// read owns the run's output until the stream ends.
func (a *attendance) read() {
	defer close(a.drained)
	unhurried, stop := context.WithCancel(a.ctx)
	defer stop()
	a.work.Go(func() {
		defer stop() // the remaining output is read without rests
		select {
		case <-a.exited:
		case <-a.r.ending.Done():
		case <-unhurried.Done():
		}
	})
	in := output.NewIntake(a.r.out)
	live := a.r.out.Live
	flush := time.NewTimer(output.SegmentAge)
	defer flush.Stop()
	for {
		select {
		case chunk, open := <-a.att.Output():
			if !open {
				return // conclude publishes the pending output
			}
			in.Take(unhurried, chunk)
		case <-live.Told:
		case <-flush.C:
			live.Flush()
		}
		flush.Reset(live.Due())
	}
}

func (a *attendance) wait() {
	a.exit, a.err = a.att.Wait(a.ctx)
	if a.err == nil && a.r.Standing().Phase.IsReleased() {
		a.r.stop(nil) // the agent has ended: a later cause does not count
	}
	if a.err == nil {
		a.r.desk.Shut()
	}
	close(a.exited)
}

// watch waits for the sandbox's end. If there is a cause to end the run, watch has the sandbox killed. It asks neither the
// journal nor the outbox, because a disk that hangs must not keep an agent alive.
func (a *attendance) watch() {
	limit := a.r.runs.Clock.NewAlarm(startBudget)
	defer limit.Stop()
	ending := a.r.ending.Done()
	if !a.r.Standing().Started.IsZero() && a.r.handle.State != sandbox.HandleExited {
		limit.Set(a.r.timeLeft())
		poke(a.running) // an earlier watcher may have stopped before it could note it
	}
	for {
		select {
		case <-a.exited:
			return
		case at := <-a.started:
			limit.Set(a.r.timeLeft())
			a.noteStart(at)
			poke(a.running)
		case <-a.paused:
			if !a.r.Standing().Started.IsZero() {
				a.checkTime(limit)
			}
		case <-limit.C:
			if limit.Rings() {
				a.checkTime(limit)
			}
		case <-ending:
			ending = nil
			if a.r.Cause() != "" {
				a.work.Go(a.kill)
			}
		}
	}
}

// record tells the journal and the outbox how the run is.
func (a *attendance) record() {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-a.exited:
			select {
			case <-a.running: // it ended as soon as it ran
				a.noteRunning()
			default:
			}
			return
		case <-a.running:
			a.noteRunning()
		case <-a.r.desk.Changed():
			a.noteWaiting()
			poke(a.paused)
		case <-poll.C:
			a.noteRunning()
			a.noteWaiting()
		}
	}
}

// ask asks the outbox for the parent's inputs, and whether the run must end.
func (a *attendance) ask() {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-a.exited:
			return
		case <-poll.C:
			a.r.Hear(0)
			if reason := a.r.client.Check(); reason != "" {
				a.r.End(reason)
			}
		}
	}
}

// checkTime sets the alarm anew, or ends a run that has no time left. It does neither if the sandbox had ended before
// this watcher found it: then judge goes by when it ended.
func (a *attendance) checkTime(limit *boot.Alarm) {
	if a.r.handle.State != sandbox.HandleExited && !a.resetLimit(limit) {
		a.tooLong()
	}
}

// resetLimit sets the alarm to the time that the run has left, and reports whether it has any. A run gets more time
// while its agent waits for approval.
func (a *attendance) resetLimit(limit *boot.Alarm) bool {
	now := a.r.Standing()
	left := a.r.timeLeft()
	if now.Started.IsZero() || left == 0 {
		return false
	}
	if len(now.Approvals) > 0 {
		left = max(left, pollEvery) // the limit is set again after every change
	}
	// A question may have stopped the clock before record shows it. Then left does not shrink, and the alarm must not ring
	// without a pause.
	limit.Set(max(left, time.Millisecond))
	return true
}

// noteStart notes when the agent began. The run goes on even if the journal does not know it yet.
func (a *attendance) noteStart(at time.Time) {
	a.r.standing.set(func(s *Standing) { s.Started = at })
}

// noteRunning tells the journal that the agent runs. If the journal does not take it, the poll calls noteRunning again,
// ever less often.
func (a *attendance) noteRunning() {
	now := a.r.Standing()
	if now.Started.IsZero() || now.Phase != Released || a.noted || time.Now().Before(a.noteAgain) {
		return
	}
	err := a.r.tryMove(delegation.StateRunning, journal.Change{Started: now.Started})
	a.noted = err == nil || certain(err) // a certain refusal stays a refusal
	if err == nil {
		return
	}
	a.noteTries++
	a.noteAgain = time.Now().Add(retry.Backoff(a.noteTries))
	if retry.IsLogged(a.noteTries) {
		a.r.log.Error("the journal did not record that a run has started", "run", a.r.hash, "try", a.noteTries, "error", err)
	}
}

// tooLong ends a run that has used up its time for starting or for running.
func (a *attendance) tooLong() {
	if a.r.Standing().Started.IsZero() {
		a.r.End(delegation.ReasonLaunchFailed)
		return
	}
	a.r.End(delegation.ReasonDeadline)
}

// kill climbs the ladder. If even the last signal does not help, kill asks the launcher to remove the sandbox, again
// and again until the launcher can. If the launcher then still does not report the end, kill breaks the attachment off:
// the next attachment finds no sandbox.
func (a *attendance) kill() {
	a.letBegin()
	if a.ctx.Err() != nil {
		return // the next attendance sees that the run must end
	}
	if !a.r.noteEnding() {
		return
	}
	err := a.r.runs.Timing.ladder(a.r.Cause()).climb(a.ctx, a.att, a.exited, a.r.hurry)
	if a.ends(a.r.runs.Timing.Kill) {
		return
	}
	a.r.log.Error("a sandbox does not end; removing it", "run", a.r.hash, "error", err)
	held, away := a.r.runs.Notices.FlagOf(a.r.request.Outbox, a.r.key.Subagent), a.r.runs.Notices.Flag("")
	defer held.Close()
	defer away.Close()
	for try := 1; ; try++ {
		crash.At("run.forced")
		err := a.r.runs.Removals.remove(away, a.r.launcher, a.r.handle)
		if err == nil {
			break
		}
		held.Raise(delegation.NoticeSandbox, err)
		retry.Warn(a.r.runs.Log, "remove a sandbox that does not end", try, err)
		if a.ends(retry.Backoff(try)) {
			return
		}
	}
	if !a.ends(a.r.runs.Timing.Gone) {
		a.leave()
	}
}

// ends reports whether the sandbox or the attendance ends within the given time.
func (a *attendance) ends(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-a.exited:
	case <-a.ctx.Done():
	case <-timer.C:
		return false
	}
	return true
}

// letBegin waits until init takes signals: in init's first moments the kernel drops them, and the ladder's first rung
// would be climbed for nothing.
func (a *attendance) letBegin() {
	timer := time.NewTimer(beginBudget)
	defer timer.Stop()
	select {
	case <-a.began:
	case <-a.exited:
	case <-a.ctx.Done():
	case <-timer.C:
	}
}

// drain waits for the last output, but not for ever: a launcher that does not end the stream must not hold up the
// answer.
func (a *attendance) drain() {
	if a.err != nil {
		return // the connection broke; the rest comes with the next attachment
	}
	timer := time.NewTimer(drainBudget)
	defer timer.Stop()
	select {
	case <-a.drained:
	case <-timer.C:
		a.r.log.Warn("the last output of a sandbox did not arrive in time", "run", a.r.hash)
	}
}
