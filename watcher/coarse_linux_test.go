package watcher

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
	"torno/test/attack"
	"torno/test/coarse"
)

// exchanges put one request in the place of another one of the same length.
var exchanges = map[string]func(d *desk, old, next ask){
	"in a file that got the inode of the one before": func(d *desk, old, next ask) {
		name := "request_" + old.id + ".json"
		d.useUpInodes(d.stampOf(name).Ino)
		d.remove(name)
		d.submit(next)
	},
	"in the same file": func(d *desk, _, next ask) { d.overwrite(next) },
}

// useUpInodes makes files until none gets an inode below a given one: the file system gives away the lowest that is free.
func (d *desk) useUpInodes(below uint64) {
	d.Helper()
	for n := 0; ; n++ {
		name := fmt.Sprint("filler", n)
		d.touch(name)
		if d.stampOf(name).Ino > below {
			return
		}
	}
}

// overwrite writes a request over the one that is there, in its file.
func (d *desk) overwrite(a ask) {
	d.Helper()
	path := filepath.Join(d.outbox, "request_"+a.id+".json")
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	d.must(err)
	body := d.body(a)
	info, err := file.Stat()
	d.must(err)
	if info.Size() != int64(len(body)) {
		d.Fatalf("the request that is there has %d bytes and the next one %d", info.Size(), len(body))
	}
	_, err = file.WriteAt(body, 0)
	d.must(err)
	d.must(file.Close())
}

// situations are what a request can be when another one takes its place. Each brings the first one there, exchanges it, and
// goes on as far as the second one needs.
var situations = map[string]func(d *desk, first ask, exchange func()){
	"answered": func(d *desk, first ask, exchange func()) {
		first.task = "echo"
		d.ended(d.submit(first))
		exchange()
	},
	"answered, and no event comes": func(d *desk, first ask, exchange func()) {
		first.task = "echo"
		d.ended(d.submit(first))
		d.watcher.boxes[0].Away.Store(true) // until the next look at the outbox's place, after which a listing comes
		exchange()
	},
	"answered, and its response taken away": func(d *desk, first ask, exchange func()) {
		first.task = "echo"
		d.ended(d.submit(first))
		d.remove("response_" + first.id + ".json")
		exchange()
	},
	"running": func(d *desk, first ask, exchange func()) {
		first.task = "till"
		d.started(d.submit(first))
		exchange()
	},
	"running, and no event comes": func(d *desk, first ask, exchange func()) {
		first.task = "till"
		d.started(d.submit(first))
		d.watcher.boxes[0].Away.Store(true)
		exchange()
	},
	"waiting in the queue": func(d *desk, first ask, exchange func()) {
		block := first
		block.id, block.request, block.task, block.workspace = "block", "block", "till", ""
		d.started(d.submit(block))
		first.task = "till"
		d.submit(first)
		d.eventually("the first one waits", func() bool { return d.status(first.id).State == delegation.StateQueued })
		exchange()
		d.remove("request_" + block.id + ".json")
	},
	"answered by an earlier watcher": func(d *desk, first ask, exchange func()) {
		first.task = "echo"
		d.ended(d.submit(first))
		d.stop()
		exchange()
		d.open()
	},
	"refused": func(d *desk, first ask, exchange func()) {
		first.workspace = "forbidden_/s1"
		d.submit(first)
		d.response(first)
		exchange()
	},
}

// TestARequestThatSharesAStamp exchanges requests within one second, on a file system that stamps by the second, so that
// name, inode, size and times are those of the request before. Each gets its own answer, and the one before gets none any
// more. A reader who believes a stamp takes the second one for the first.
func TestARequestThatSharesAStamp(t *testing.T) {
	coarse.TempDir(t)
	for how, exchange := range exchanges {
		for what, situation := range situations {
			t.Run(what+", "+how, func(t *testing.T) {
				trial := attack.Trial{Row: "O37", Where: "fake", Note: what + ", " + how}
				for try := 0; trial.Tried < 2; try++ {
					if try == 20 {
						t.Fatal("no two requests came to share a stamp")
					}
					d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
					d.world.Register("till", func(ctx context.Context, _ sandboxtest.ProgramIO) int { <-ctx.Done(); return 1 })
					second := ask{id: "s1", request: "r2", task: "echo", workspace: d.relative("s1"), timeout: unhurried}
					first := second
					first.request = "r1"
					shares := false
					situation(d, first, func() {
						was := d.stampOf("request_s1.json")
						exchange(d, first, second)
						shares = d.stampOf("request_s1.json").SameFile(was)
					})
					resp := d.response(second)
					d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
					d.onceEach()
					d.stop()
					if shares {
						trial.Tried, trial.Held, trial.Oracle = trial.Tried+1, trial.Held+1, true
					}
				}
				attack.Record(t, trial)
			})
		}
	}
}

// stampOf is what the file system says of a file of the outbox.
func (d *desk) stampOf(name string) delegation.Stamp {
	d.Helper()
	stamp, err := d.config.Outboxes[0].Dir.Stat(name)
	d.must(err)
	return stamp
}
