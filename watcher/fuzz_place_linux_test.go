package watcher

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/test/coarse"
)

// FuzzRequestsInOnePlace has a parent write, exchange, overwrite and remove requests of two subagents in any order, a watcher
// die now and then, and the file system tell hardly any two of the files apart. In the end each request that lies there has its
// own response, no response lies without a request, and nothing ran twice.
func FuzzRequestsInOnePlace(f *testing.F) {
	if os.Geteuid() == 0 {
		coarse.TempDir(f)
	}
	random := rand.New(rand.NewPCG(22, 1))
	for range 12 {
		deeds := make([]byte, 24)
		for i := range deeds {
			deeds[i] = byte(random.Uint32())
		}
		f.Add(deeds)
	}
	f.Fuzz(func(t *testing.T, deeds []byte) {
		p := parent{desk: newDesk(t, nil), lies: map[string]ask{}}
		for _, deed := range deeds[:min(len(deeds), 64)] {
			p.do(deed)
		}
		for _, id := range subagents {
			p.finds(id)
		}
		p.onceEach()
		for _, id := range subagents {
			if n := p.world.MostAtOnce(id); n > 1 {
				t.Errorf("%d runs of %s at once", n, id)
			}
		}
	})
}

var subagents = []string{"s1", "s2"}

// parent is a client that keeps to no order.
type parent struct {
	*desk
	lies  map[string]ask // by subagent: the request that lies there
	asked int
}

// do does one thing, which the bits of deed choose.
func (p *parent) do(deed byte) {
	id := subagents[deed&1]
	old, lies := p.lies[id]
	name := "request_" + id + ".json"
	p.asked++
	next := ask{
		id: id, request: fmt.Sprintf("r%04d", p.asked), task: "echo", workspace: p.relative(id), timeout: unhurried,
	}
	switch what := deed >> 1 % 16; {
	case what == 0 && lies:
		p.remove(name)
		delete(p.lies, id)
		return
	case what == 1:
		p.crash()
		p.open()
		return
	case what <= 4 && lies:
		p.response(old)
		return
	case what == 5 && lies:
		next = old
		p.submit(next)
	case what <= 8 && lies:
		p.remove(name)
		p.submit(next)
	case what <= 11 && lies:
		p.overwrite(next)
	case what <= 13 && lies:
		then := p.stampOf(name).ModTime
		p.overwrite(next)
		p.must(os.Chtimes(filepath.Join(p.outbox, name), time.Time{}, then))
	default:
		p.submit(next)
	}
	p.lies[id] = next
}

// finds waits until a subagent's files are what they must come to.
func (p *parent) finds(id string) {
	p.Helper()
	if a, lies := p.lies[id]; lies {
		p.response(a)
		p.ended(a)
		p.response(a) // still
		return
	}
	p.eventually("no response of "+id+" lies there without a request", func() bool { return !p.exists("response_" + id + ".json") })
}
