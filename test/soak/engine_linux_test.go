package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/test/house"
)

// engine is a private one, which the watcher knows by a name, and another one that may come to answer under that name.
type engine struct {
	*house.Private
	other *house.Private
	name  string // a link to the socket of either
	live  bool   // its containers survive it
}

func newEngine(t testing.TB) power {
	e := &engine{Private: house.NewPrivate(t, house.PrivatePlan{}), other: house.NewPrivate(t, house.PrivatePlan{})}
	e.name = filepath.Join(e.Dir, "named.sock")
	e.leadTo(e.Private)
	return e
}

func (e *engine) plan() house.Plan { return house.Plan{Engine: &e.Engine, Host: "unix://" + e.name} }

func (e *engine) dirs(*scene) []string { return []string{e.Dir, e.other.Dir} }

func (e *engine) left(s *scene) (left []string) {
	for _, p := range []*house.Private{e.Private, e.other} {
		for _, c := range p.Containers(s, "") {
			left = append(left, "the container "+c.ID+" of "+p.Dir)
		}
	}
	return left
}

func (e *engine) strike(f *fate, n stroke) {
	switch n.deed {
	case deedStop, deedSlay, deedPower, deedBoth:
		e.outage(f, n)
	case deedHang:
		begin := time.Now()
		letOn := e.Hang()
		<-time.After(2 * n.down)
		letOn()
		f.felt(span{deed: n.deed, begin: begin, kept: true})
	case deedRemove:
		e.removeOne(f, n.which)
	case deedExchange:
		e.exchange(f, n)
	}
}

// outage ends the engine, one way or the other, and starts it again.
func (e *engine) outage(f *fate, n stroke) {
	s := span{deed: n.deed, begin: time.Now(), kept: e.live && n.live && n.deed != deedPower}
	switch n.deed {
	case deedStop:
		e.Stop()
	case deedSlay, deedBoth:
		e.Kill()
	case deedPower:
		e.CutPower()
	}
	if n.deed == deedBoth {
		f.stop(syscall.SIGKILL)
	}
	<-time.After(n.down)
	e.keeps(f, n.live)
	if n.deed == deedPower {
		e.PowerUp()
	} else {
		e.Launch()
		e.Await()
	}
	if n.deed == deedBoth {
		f.rise(n)
	}
	f.felt(s)
}

// keeps says whether the containers of the engine's next life survive its end.
func (e *engine) keeps(f *fate, live bool) {
	f.Must(os.WriteFile(e.Dir+"/daemon.json", fmt.Appendf(nil, `{"live-restore": %t}`, live), 0o600))
	e.live = live
}

// removeOne removes a container by hand.
func (e *engine) removeOne(f *fate, which int) {
	all := e.Containers(f, "")
	if len(all) == 0 {
		return
	}
	c := all[which%len(all)]
	s := span{deed: deedRemove, begin: time.Now(), sandboxes: []string{c.Labels[house.SandboxLabel]}}
	request, err := http.NewRequestWithContext(f.Context(), http.MethodDelete, "http://engine/v1.41/containers/"+c.ID+"?force=1", nil)
	f.Must(err)
	response, err := e.HTTP.Do(request)
	f.Must(err)
	response.Body.Close() // the watcher may have been first
	f.felt(s)
}

// listen hears both engines.
func (e *engine) listen(ctx context.Context, s *scene) {
	var both sync.WaitGroup
	both.Go(func() { listenTo(ctx, s, e.Engine, "") })
	both.Go(func() { listenTo(ctx, s, e.other.Engine, otherEngine) })
	both.Wait()
}

// listenTo begins again whenever the engine was away. What happened meanwhile is in its record only while it lives.
func listenTo(ctx context.Context, s *scene, e house.Engine, name string) {
	since := time.Now()
	next := time.NewTicker(3 * time.Millisecond)
	defer next.Stop()
	for ; ctx.Err() == nil; <-next.C {
		since = hear(ctx, s, e, name, since)
	}
}

func hear(ctx context.Context, s *scene, e house.Engine, name string, since time.Time) time.Time {
	filters := url.QueryEscape(`{"type":["container"],"label":["torno.installation"],"event":["create","start","die","destroy"]}`)
	query := fmt.Sprintf("http://engine/v1.41/events?since=%d.%09d&filters=%s", since.Unix(), since.Nanosecond(), filters)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
	s.Must(err)
	response, err := e.HTTP.Do(request)
	if err != nil {
		return since
	}
	defer response.Body.Close()
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Action   string
			TimeNano int64
			Actor    struct {
				ID         string
				Attributes map[string]string
			}
		}
		if decoder.Decode(&event) != nil {
			return since
		}
		since = time.Unix(0, event.TimeNano+1)
		s.note(func() {
			id := event.Actor.Attributes[house.SandboxLabel]
			s.engine[id] = append(s.engine[id], deedOfEngine{
				name, event.Action, event.Actor.ID, event.Actor.Attributes["exitCode"], time.Unix(0, event.TimeNano),
			})
		})
	}
}
