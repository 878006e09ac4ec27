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
// A method that fails because of the request (a workspace that is a link, a limit that cannot be had) returns a
// *delegation.Refusal; ErrNotFound says that a sandbox is gone, ErrUnavailable that nothing is known; every other error is
// the launcher's own trouble.
//
// The place on which a launcher launches is its site: Docker's engine, or gVisor's state directory. A site has an id of its own,
// whatever name or path leads to it. A launcher belongs to the site that it was opened on. Where another site answers in its
// place, or a handle names another one, a call fails with ErrOtherSite: a sandbox that this site does not have is not gone (I21).
type Launcher interface {
	// Check says what is enforced, by what, or why not.
	Check(context.Context) (Guarantees, error)
	// Site is the id of the launcher's site: it lasts as long as the site does, and every handle carries it. It is "" where
	// the site has no such id. Where another site answers now, it is ErrOtherSite.
	Site(context.Context) (string, error)
	// Create makes the sandbox of an id; nothing in it runs yet. Called again for the same id it returns the sandbox that
	// is there.
	Create(context.Context, SandboxID, Spec) (Handle, error)
	// Start lets init begin. Init says runfile.Holding and waits for its release; until then it reads nothing of the run.
	// Repeatable. Where the launcher cannot tell any more whether init began, it is ErrUncertain, and nothing is started.
	Start(context.Context, Handle) error
	// Open attaches to a sandbox that was started, the first time from Cursor "", later from the last one seen.
	Open(context.Context, Handle, Cursor) (Attachment, error)
	// Attest looks from outside at a sandbox that holds, and compares what was built with its Spec. A difference is a
	// *DifferenceError. Where Check says that nothing is attested here, the Attestation says why, and that is no error.
	Attest(context.Context, Handle) (Attestation, error)
	// List returns all sandboxes of this installation. A sandbox that cannot be looked at is HandleUncertain; the others are
	// listed all the same.
	List(context.Context) ([]Handle, error)
	// Remove kills what runs and removes the sandbox. Repeatable; afterwards no process, mount or cgroup of it is left.
	Remove(context.Context, Handle) error
}

// Attachment is a live connection to one sandbox. Only the sandbox's own end or Close ends it. When the attachment that could
// release a sandbox ends before it has, init ends too.
type Attachment interface {
	// Holds says whether Release may still be called: this is the attachment that can release the sandbox, and it has not. It
	// asks no engine.
	Holds() bool
	// Release gives init the word to go on and run the agent. It is the first attachment's, once; otherwise ErrNotHeld.
	Release(context.Context) error
	// Output must be read until it is closed: a stream that is not read stops the child. It is closed when the
	// sandbox has ended and everything was delivered, or after Close.
	Output() <-chan Chunk
	// Input is the agent's standard input, from Release on. Without Process.Stdin it is closed already. A write waits for an agent that
	// does not read; Close of the attachment ends it. Only a Process.Lasting input has other writers than the first attachment.
	Input() io.WriteCloser
	// Signal sends the signal to the agent's group; Kill ends every process of the sandbox.
	Signal(context.Context, Signal) error
	// Wait returns when the last process of the sandbox is gone.
	Wait(context.Context) (Exit, error)
	// Close detaches; the sandbox lives on.
	Close() error
}

// ErrNotFound says that a sandbox does not exist (any more).
var ErrNotFound = errors.New("the sandbox does not exist")

// ErrUnavailable says that a launcher cannot reach what makes its sandboxes. The call may be made again, and says nothing of the
// sandbox: it may live on.
var ErrUnavailable = errors.New("the launcher does not answer")

// IsUnavailable says whether an error tells of a launcher that does not answer. Nothing follows from it for a sandbox.
func IsUnavailable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// ErrUncertain says that a sandbox may have run, and that what launched it does not know it.
var ErrUncertain = errors.New("it is not known whether the sandbox has run")

// Handle refers to a sandbox. It is plain data and goes into the journal.
type Handle struct {
	Launcher string `json:"launcher"`
	ID       string `json:"id"` // the launcher's own name for it
	// Site is where it is, by the site's own id; "" where that is not known.
	Site    string      `json:"site,omitempty"`
	Sandbox SandboxID   `json:"sandbox"`
	Slot    int         `json:"slot"`            // which staging directory and identity it has
	State   HandleState `json:"state,omitempty"` // as List saw it
	Exit    *Exit       `json:"exit,omitempty"`  // as List saw it, when State is HandleExited
	// Which directory Create has mounted as the workspace. 0 and 0 where the launcher does not say.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Workspace is the path of that directory on the host. The caller sets it for itself; no launcher does.
	Workspace string `json:"workspace,omitempty"`
	// Above is that directory and each one above it, the innermost first. The caller sets it, too.
	Above []Directory `json:"above,omitempty"`
}

// Directory says which directory it is, by whatever name.
type Directory struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// HandleState is a sandbox's own state, as its launcher sees it.
type HandleState string

// The states of a sandbox.
const (
	HandleCreated HandleState = "created"
	HandleRunning HandleState = "running"
	HandleExited  HandleState = "exited"
	// HandleUncertain is the state of a sandbox that is there and cannot be looked at. It may run: it is not gone, and a
	// caller that has no run for it leaves it alone.
	HandleUncertain HandleState = "uncertain"
)

// Stream is an output stream of the child.
type Stream string

// The output streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Cursor is a place in a sandbox's output; its form is the launcher's own. "" is the beginning.
type Cursor string

// Chunk is a piece of output. Bytes are raw: a line, a part of one, or several.
type Chunk struct {
	Stream Stream
	Cursor Cursor // Open with it continues after this chunk
	Bytes  []byte
	Gap    bool // output before this chunk was lost; a last chunk without bytes says that of the output's end
}

// Signal is what can be sent to an agent.
type Signal string

// The signals of the kill ladder.
const (
	Interrupt Signal = "INT"
	Terminate Signal = "TERM"
	Kill      Signal = "KILL"
)

// Exit is how a sandbox ended.
type Exit struct {
	Code        int           `json:"code"`              // 128+n when signal n killed the agent
	Unknown     bool          `json:"unknown,omitempty"` // the code is not known, only that the sandbox has ended
	Why         string        `json:"why,omitempty"`     // what is known of an Unknown one, or what else ended than the agent
	OutOfMemory bool          `json:"out_of_memory,omitempty"`
	StartedAt   time.Time     `json:"started_at,omitzero"`
	FinishedAt  time.Time     `json:"finished_at,omitzero"`
	FinishedIn  boot.Moment   `json:"finished_in,omitzero"`  // the same, as no clock can change it; zero when the launcher cannot tell
	PeakMemory  int64         `json:"peak_memory,omitempty"` // bytes; 0 when the launcher cannot tell
	CPUTime     time.Duration `json:"cpu_time,omitempty"`    // 0 when the launcher cannot tell
}
