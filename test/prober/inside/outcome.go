package inside

import "time"

// Outcome is the result of a probe.
type Outcome struct {
	Row    string // of docs/THREATS.md
	Name   string
	Word   Word
	Detail string // what the kernel said
	// Optional says that not every machine has what was looked for, so that its absence anywhere is no fault.
	Optional bool
}

// Word is an outcome in one word.
type Word string

// The words.
const (
	Done    Word = "done"    // it worked, or was let through to where only its nonsense was refused
	Refused Word = "refused" // by a filter, or for want of a right
	Missing Word = "missing" // the kernel has no such call or family, or a filter says so
	Absent  Word = "absent"  // there is nothing of that kind to be found or reached
	Failed  Word = "failed"  // for another reason, which proves nothing
)

// Allowed is how the names of probes begin that must work everywhere, so that the wall is none for honest programs.
const Allowed = "allowed: "

// Ground is where the probes are tried, and at what.
type Ground struct {
	Dir    string // a directory that is ours to write
	SetUID string // a copy of the prober that belongs to root and is set-user-id, planted by the host
	Secret string // a file of the host's, by the host's path
	Socket string // the engine's, by the engine's path
	Neighbour
}

// Neighbour is what a process outside of the sandbox, on the same machine and in none of its own namespaces, tells about
// itself. It is what the prober tries to reach.
type Neighbour struct {
	Hostname string
	TCP      string // an address on the machine's own loopback
	Abstract string // a unix socket without a file
}

// Taking is an attempt to take all there is of something.
type Taking struct {
	What string
	Most int64  // where taking ends by itself
	Got  int64  // how much it was
	Stop string // what ended it before that: an error, or a signal
}

// Beats is how long it took to start a program, of ten that were started one after another.
type Beats struct {
	Median, Worst time.Duration
	Failed        string
}
