package watcher

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"time"

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
	Lost           bool   `json:",omitempty"` // output of an earlier sandbox of the run was lost
	Over           bool   `json:",omitempty"` // the segment says that the run has ended

	Head    []byte    `json:",omitempty"` // of init's first line, until it is complete; all of it where it says that nothing was started
	Started time.Time `json:",omitzero"`  // when it said that the agent starts; zero before
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
		Stdout: o.stdout.buf, Stderr: o.stderr.buf, Inside: o.live.inside, Over: o.live.over, Head: o.head, Started: o.startedAt,
	}
}

// resume goes on where an earlier watcher stopped. started is when the journal has seen the agent start, zero where it has not;
// published says that a file is in the outbox. A note may be older than the start: a run has live segments before its agent.
func (o *output) resume(p progress, started time.Time, published func(seq int) bool) {
	o.startedAt, o.known = started, !started.IsZero()
	if !p.Started.IsZero() {
		o.startedAt, o.known = p.Started, false // init's line was taken
	}
	o.started = !o.startedAt.IsZero()
	if p.Segment == 0 {
		return
	}
	o.cursor, o.bytes = p.Cursor, p.Bytes
	o.stdout.buf, o.stderr.buf = p.Stdout, p.Stderr
	o.live.seq, o.live.lines = p.Segment, p.Lines
	if p.Inside || p.Lost || !published(p.Segment) {
		o.live.gap()
	}
	o.head = p.Head
	if bytes.HasSuffix(o.head, []byte("\n")) {
		o.takeHead(nil) // init has said why it starts nothing
	}
}
