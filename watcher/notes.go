package watcher

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"

	"torno/sandbox"
)

// progress is how far the output of a run was taken: what a next watcher needs to go on without doubling anything.
type progress struct {
	Cursor         sandbox.Cursor
	Segment        int   // the one that was about to be published
	Lines          int64 // events in all of them
	Bytes          int64
	Stdout, Stderr []byte // the tails
	Inside         bool   // a chunk was published in part
}

// notes are the progress of running children, and why they are being ended: files in a directory of the host's. They are
// written without a flush: a sandbox does not outlive a power cut either, and a watcher's sudden death takes nothing that
// was written.
type notes struct{ dir *os.Root } // nil: none are kept

// save writes the progress of a run. Without it a next watcher starts over at the beginning of the engine's log.
func (n notes) save(key string, p progress) {
	if data, err := json.Marshal(p); err == nil {
		n.write(key, data)
	}
}

// write writes a note. What is lost with one is a position in a stream that can be read again, or who wanted an end.
func (n notes) write(name string, data []byte) {
	if n.dir != nil && n.dir.WriteFile(name+".tmp", data, 0o600) == nil {
		_ = n.dir.Rename(name+".tmp", name)
	}
}

// load is the progress of a run, zero where there is none.
func (n notes) load(key string) (p progress) {
	if n.dir == nil {
		return progress{}
	}
	data, err := n.dir.ReadFile(key)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return progress{}
	}
	return p
}

// drop removes what was noted of a run. The next start sweeps what is left.
func (n notes) drop(key string) {
	if n.dir != nil {
		_ = n.dir.Remove(key)
		_ = n.dir.Remove(key + endingSuffix)
	}
}

// sweep removes the notes of runs that are not wanted.
func (n notes) sweep(wanted func(key string) bool) {
	if n.dir == nil {
		return
	}
	entries, err := fs.ReadDir(n.dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if !wanted(strings.TrimSuffix(e.Name(), endingSuffix)) {
			n.drop(e.Name())
		}
	}
}

// progress is where the output stands.
func (o *output) progress() progress {
	return progress{
		Cursor: o.cursor, Segment: o.live.seq, Lines: o.live.lines, Bytes: o.bytes,
		Stdout: o.stdout.buf, Stderr: o.stderr.buf, Inside: o.live.inside,
	}
}

// resume goes on where an earlier watcher stopped. known says that the journal has seen the agent start; published, that
// a file is in the outbox.
func (o *output) resume(p progress, known bool, published func(seq int) bool) {
	o.started, o.known = known, known
	if p.Segment == 0 {
		return
	}
	o.started, o.known, o.cursor, o.bytes = true, false, p.Cursor, p.Bytes
	o.stdout.buf, o.stderr.buf = p.Stdout, p.Stderr
	o.live.seq, o.live.lines = p.Segment, p.Lines
	if p.Inside || !published(p.Segment) {
		o.live.gap()
	}
}
