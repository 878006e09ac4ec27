package sandbox

import (
	"context"
	"errors"
	"io"
	"time"

	"torno/internal/boot"
)

// Launcher turns a Spec into a running sandbox. Every launcher passes the suite of package sandboxtest.
//
// If a method fails because of the request (the workspace is a link, a limit cannot be had), it returns a
// *delegation.Refusal. ErrNotFound means that a sandbox is gone; ErrUnavailable means that nothing is known about it.
// Every other error is the launcher's own trouble.
//
// A launcher launches on a site: Docker's engine, or gVisor's state directory. A site keeps its own id, whatever name
// or path leads to it. A launcher belongs to the site that it was opened on. If another site answers in its place, or a
// handle names another site, a call fails with ErrOtherSite: a sandbox that is missing on this site is not gone (I21).
type Launcher interface {
	// Check tells for each guarantee whether it is enforced, and by what means, or why not.
	Check(context.Context) (Guarantees, error)
	// Site returns the id of the launcher's site. The id lasts as long as the site does, and every handle carries it.
	// It is "" if the site has no such id. If another site answers now, Site returns ErrOtherSite.
	Site(context.Context) (string, error)
	// Create makes the sandbox for an id; nothing in it runs yet. A second call for the same id returns the existing
	// sandbox.
	Create(context.Context, SandboxID, Spec) (Handle, error)
	// Start lets init begin. Init says runfile.Holding and waits for its release; until then it reads nothing of the
	// run. Start may be repeated. If the launcher can no longer tell whether init began, Start starts nothing and
	// returns ErrUncertain.
	Start(context.Context, Handle) error
	// Open attaches to a started sandbox: the first time from Cursor "", later from the last Cursor that the caller
	// saw.
	Open(context.Context, Handle, Cursor) (Attachment, error)
	// Attest looks from outside at a sandbox that holds, and compares it with its Spec. It returns a difference as a
	// *DifferenceError. If Check says that nothing is attested here, the Attestation gives the reason, without an
	// error.
	Attest(context.Context, Handle) (Attestation, error)
	// List returns all sandboxes of this installation. If it cannot look at one, it lists that sandbox as
	// HandleUncertain and still lists the others.
	List(context.Context) ([]Handle, error)
	// Remove kills every process of the sandbox and removes the sandbox. It may be repeated. Afterwards no process,
	// mount or cgroup of the sandbox is left.
	Remove(context.Context, Handle) error
}

// Attachment is a live connection to one sandbox. Only the sandbox's own end or Close ends it. If the attachment that
// can release a sandbox ends before it did so, init ends too.
type Attachment interface {
	// Holds reports whether Release may still be called: this attachment can release the sandbox and has not done so.
	// It asks no engine.
	Holds() bool
	// Release gives init the word to go on and run the agent. Only the first attachment can do this, and only once;
	// otherwise Release returns ErrNotHeld.
	Release(context.Context) error
	// Output returns the child's output. The caller must read it until it is closed, because an unread stream stops the
	// child. It is closed after Close, or when the sandbox has ended and everything was delivered.
	Output() <-chan Chunk
	// Input is the agent's standard input, from Release on. Without Process.Stdin it is already closed. A write waits
	// while the agent does not read; closing the attachment ends the wait. Only a Process.Lasting input has other
	// writers than the first attachment.
	Input() io.WriteCloser
	// Signal sends the signal to the agent's group; Kill ends every process of the sandbox.
	Signal(context.Context, Signal) error
	// Wait returns when the last process of the sandbox is gone.
	Wait(context.Context) (Exit, error)
	// Close detaches; the sandbox lives on.
	Close() error
}

// ErrNotFound means that a sandbox does not exist (any more).
var ErrNotFound = errors.New("the sandbox does not exist")

// ErrUnavailable means that a launcher cannot reach the program that makes its sandboxes. The caller may try again. The
// error tells nothing about the sandbox, which may live on.
var ErrUnavailable = errors.New("the launcher does not answer")

// IsUnavailable reports whether an error means that a launcher does not answer. Such an error tells nothing about a
// sandbox.
func IsUnavailable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// ErrUncertain means that a sandbox may have run, and that its launcher does not know.
var ErrUncertain = errors.New("it is not known whether the sandbox has run")

// Handle refers to a sandbox. It is plain data and goes into the journal.
type Handle struct {
	Launcher string `json:"launcher"`
	ID       string `json:"id"` // the launcher's own name for it
	// Site is the id of the sandbox's site; "" if it is not known.
	Site    string      `json:"site,omitempty"`
	Sandbox SandboxID   `json:"sandbox"`
	Slot    int         `json:"slot"`            // selects the staging directory and the identity
	State   HandleState `json:"state,omitempty"` // as List saw it
	Exit    *Exit       `json:"exit,omitempty"`  // as List saw it, when State is HandleExited
	// Device and Inode identify the directory that Create mounted as the workspace; 0 and 0 if the launcher does not
	// tell.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Workspace is the host path of the workspace. The caller sets it for its own use; no launcher sets it.
	Workspace string `json:"workspace,omitempty"`
	// Above lists the workspace and every directory above it, the innermost first. The caller sets it, too.
	Above []Directory `json:"above,omitempty"`
}

// Directory identifies a directory, whatever its name.
type Directory struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// HandleState is the state of a sandbox, as its launcher sees it.
type HandleState string

// The states of a sandbox.
const (
	HandleCreated HandleState = "created"
	HandleRunning HandleState = "running"
	HandleExited  HandleState = "exited"
	// HandleUncertain is the state of a sandbox that is there, but that the launcher cannot look at. It is not gone and
	// may run. A caller that has no run for it leaves it alone.
	HandleUncertain HandleState = "uncertain"
)

// Stream is an output stream of the child.
type Stream string

// The output streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Cursor is a place in a sandbox's output. Its form is the launcher's own. "" is the beginning.
type Cursor string

// Chunk is a piece of output. Its bytes are raw: a line, a part of a line, or several lines.
type Chunk struct {
	Stream Stream
	Cursor Cursor // an Open with this Cursor continues after the chunk
	Bytes  []byte
	// Gap: output before this chunk was lost. A last chunk without bytes: the end of the output was lost.
	Gap bool
}

// Signal is a signal for an agent.
type Signal string

// The signals of the kill ladder.
const (
	Interrupt Signal = "INT"
	Terminate Signal = "TERM"
	Kill      Signal = "KILL"
)

// Exit describes how a sandbox ended.
type Exit struct {
	Code        int           `json:"code"`              // 128+n when signal n killed the agent
	Unknown     bool          `json:"unknown,omitempty"` // only the sandbox's end is known, not the code
	Why         string        `json:"why,omitempty"`     // why Unknown, or which part other than the agent ended
	OutOfMemory bool          `json:"out_of_memory,omitempty"`
	StartedAt   time.Time     `json:"started_at,omitzero"`
	FinishedAt  time.Time     `json:"finished_at,omitzero"`
	FinishedIn  boot.Moment   `json:"finished_in,omitzero"`  // FinishedAt on a clock that nobody can set; zero if the launcher cannot tell
	PeakMemory  int64         `json:"peak_memory,omitempty"` // bytes; 0 if the launcher cannot tell
	CPUTime     time.Duration `json:"cpu_time,omitempty"`    // 0 if the launcher cannot tell
}
