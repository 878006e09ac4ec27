package soak

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// exchange has another engine answer under the engine's name for a while. The engine lives on meanwhile, or dies and comes back; the
// watcher lives through the exchange, or finds it when it starts. What had its sandbox on the engine waits for it, and what begins
// meanwhile runs on the other one.
//
// What still runs on the other one when the name leads back would be stranded there. So the clients ask for nothing while it comes to
// rest.
func (e *engine) exchange(f *fate, n stroke) {
	s := span{deed: deedExchange, begin: time.Now(), kept: true}
	said := len(f.Said())
	e.leadTo(e.other)
	comeBack := func() {}
	if n.pass%2 == 0 {
		comeBack = e.die(f, n)
	}
	if n.which%2 == 0 {
		e.restart(f, n, func() {})
	}
	<-time.After(2 * n.down)
	comeBack()
	f.moving.Lock()
	goOn := sync.OnceFunc(f.moving.Unlock)
	defer goOn()
	runs, letOn := e.comeToRest(f)
	met := strings.Contains(f.Said()[said:], " serving ") // a watcher began since, or opened its launchers anew
	s.sandboxes = e.stranded(f, runs, met)
	goBack := func() { e.leadTo(e.Private); f.noted(s); goOn() }
	if met && (len(s.sandboxes) == 0 || n.which/2%2 == 0) { // without a stranded run it may not look for long
		e.restart(f, n, goBack)
		return
	}
	back := span{deed: deedBack, begin: time.Now(), kept: true}
	said = len(f.Said())
	goBack()
	letOn()
	e.awaitNotice(f, met, said)
	f.felt(back)
}

// leadTo has the name lead to an engine from now on.
func (e *engine) leadTo(p *house.Private) {
	next := e.name + ".next"
	e.must(os.Symlink(p.Socket, next))
	e.must(os.Rename(next, e.name))
}

func (e *engine) must(err error) {
	if err != nil {
		e.Fatal(err)
	}
}

// die kills the engine, until it is told to come back.
func (e *engine) die(f *fate, n stroke) (comeBack func()) {
	s := span{deed: deedSlay, begin: time.Now(), kept: e.live && n.live}
	e.Kill()
	return func() {
		e.keeps(f, n.live)
		e.Launch()
		e.Await()
		f.noted(s)
	}
}

// restart kills the watcher and starts another one. Something is done between.
func (e *engine) restart(f *fate, n stroke, between func()) {
	s := span{deed: deedKill, begin: time.Now(), kept: true}
	f.stop(syscall.SIGKILL)
	between()
	f.rise(n)
	f.felt(s)
}

// comeToRest waits until nothing is left on the other engine, and has the watcher stand still then. A sandbox that is just being made
// may come after that. No agent begins in it, and it is removed when the other engine answers again.
func (e *engine) comeToRest(f *fate) (runs []control.Run, letOn func()) {
	for deadline := time.Now().Add(2 * house.Patience); ; time.Sleep(20 * time.Millisecond) {
		f.mourn()
		if f.serves() && e.rests(f) {
			runs, err := f.Client.Runs(f.Context(), control.Query{Limit: 1000})
			letOn := f.Stop()
			if err == nil && e.rests(f) {
				return runs, letOn
			}
			letOn()
		}
		if time.Now().After(deadline) {
			f.Fatalf("the other engine does not come to rest, it has %v\n%s", e.other.Containers(f, ""), f.Said())
		}
	}
}

func (e *engine) rests(f *fate) bool { return len(e.other.Containers(f, "")) == 0 }

// serves says whether the watcher has taken up what there was, since it began or since it met another engine.
func (f *fate) serves() bool {
	said := f.Said()[f.said:]
	return strings.LastIndex(said, " serving ") > strings.LastIndex(said, noticed)
}

// noticed is what a watcher says when it has met another engine.
const noticed = "another site answers: "

// stranded are the sandboxes of the runs that are said to be stranded. A watcher that has met the other engine is to say so of all that
// were released on the engine.
func (e *engine) stranded(f *fate, runs []control.Run, met bool) (ids []string) {
	for _, r := range runs {
		id := string(r.SandboxID)
		switch {
		case r.Stranded != "":
			ids = append(ids, id)
		case met && r.State != delegation.StateEnded && !r.Released.IsZero() && f.madeBy("", id):
			f.note(func() {
				f.odd = append(f.odd, fmt.Sprintf("another engine answers, and it is not said that the run %+v is stranded", r))
			})
		}
	}
	f.done[deedExchange+": stranded runs"] += len(ids)
	if !met {
		f.done[deedExchange+", and it was not noticed"]++
	}
	return ids
}

// madeBy says whether an engine is known to have made a sandbox.
func (s *scene) madeBy(engine, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created(id)[engine] > 0
}

// awaitNotice waits until no run is stranded any more. A watcher that has met the other engine says that it meets another one again; one
// that died since has looked when it began.
func (e *engine) awaitNotice(f *fate, met bool, said int) {
	f.Eventually("the watcher notices that its engine is back", func() bool {
		f.mourn()
		if !f.serves() || met && f.said <= said && !strings.Contains(f.Said()[said:], noticed) {
			return false
		}
		runs, err := f.Client.Runs(f.Context(), control.Query{Limit: 1000})
		return err == nil && !slices.ContainsFunc(runs, func(r control.Run) bool { return r.Stranded != "" })
	})
}

// putBack has the other engine answer once more where sandboxes are left there that were just being made when the name led back.
func (e *engine) putBack(f *fate) {
	for !e.rests(f) {
		e.exchange(f, stroke{deed: deedExchange, settled: f.settled, point: -1, pass: 1})
	}
}
