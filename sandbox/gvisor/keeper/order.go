package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"torno/internal/boot"
	"torno/internal/cgroups"
	"torno/sandbox/gvisor/keeper/output"
	"torno/sandbox/local/lay"
)

// Order is what a keeper is to start.
type Order struct {
	// Plan is what the keeper mounts before; nil where the launcher has mounted everything.
	Plan *lay.Plan `json:"plan,omitempty"`
	// Argv is the runtime with its arguments. It starts the sandbox, writes the sentry's pid into PidName and ends.
	Argv []string `json:"argv"`
	// Trouble are files in which the runtime says what went wrong.
	Trouble []string `json:"trouble"`
	// Log is how many bytes of output are kept. At the end there may be as many more as two pipes hold.
	Log int64 `json:"log"`
	// Word is what init waits for on its standard input. The watcher that starts the keeper gives the release; when it goes
	// without, the input ends.
	Word string `json:"word"`
	// Stdin leaves the agent's standard input open after the word.
	Stdin bool `json:"stdin,omitempty"`
	// Doors are the sockets of the host's that the sandbox may reach. The runtime hands it the channel of each, as descriptor
	// runfile.FirstDoor and those after it.
	Doors []Door `json:"doors,omitempty"`
	// Allowed and Grace are the agent's time from the word on, and what init and a watcher have then for ending it. After both the
	// keeper kills the sandbox.
	Allowed time.Duration `json:"allowed,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	// Ahead says that the sandbox is made ahead of its run, which an Arrival brings.
	Ahead bool `json:"ahead,omitempty"`
	// Group bounds the sandbox; nil where nothing can.
	Group *cgroups.Plan `json:"group,omitempty"`
}

// Arrival is what a keeper learns of a run for which its sandbox was made ahead: while init holds, and once.
type Arrival struct {
	Doors   []Door        `json:"doors,omitempty"` // in the order's order
	Allowed time.Duration `json:"allowed,omitempty"`
}

// Door is a socket of the host's that the sandbox may reach. One without a Path is not known yet: an Arrival says which it is.
type Door struct {
	Path string `json:"path"`
	// Name is set where Path is the directory in which the socket lies under that name. Its owner may make the socket anew: it is
	// looked up there at each connection, and has to be that owner's.
	Name   string `json:"name,omitempty"`
	Device uint64 `json:"device"` // as the launcher has found it
	Inode  uint64 `json:"inode"`
	// UID and GID are those with which the sandbox reaches it: what they may not open, the sandbox may not, and the listener
	// sees them.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// End is how a sandbox ended.
type End struct {
	Started bool `json:"started"`          // the runtime has started the sandbox
	Code    int  `json:"code"`             // of the sentry, which ends as init does
	Signal  int  `json:"signal,omitempty"` // the one that killed the sentry
	Asked   bool `json:"asked,omitempty"`  // it was killed because a watcher asked for it
	// Output is how much came through the pipes, and Dropped how much of that came before the log's first frame. Who has read the log to its
	// end, and has less, knows that the rest is lost: the disk was full, or a power cut took it.
	Output  output.Progress `json:"output,omitzero"`
	Dropped output.Progress `json:"dropped,omitzero"`
	// Trouble is what the runtime says, when it did not start the sandbox or broke down in it.
	Trouble    string      `json:"trouble,omitempty"`
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt time.Time   `json:"finished_at"`
	FinishedIn boot.Moment `json:"finished_in,omitzero"` // the same, as no clock can change it
	Use        cgroups.Use `json:"use"`
}

// The names in a box.
const (
	orderName   = "order.json"
	PidName     = "pid"
	lockName    = "lock"
	startedName = "started"
	socketName  = "socket"
	endName     = "end.json"
	logName     = "keeper.log" // what the keeper says of itself
)

// WriteOrder puts an order into a box that no process looks at yet.
func WriteOrder(dir string, o Order) error {
	box, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer box.Close()
	return writeJSON(box, orderName, o)
}

func writeJSON(box *os.Root, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := box.WriteFile(name, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// errNonsense says that a file is there and does not say what it should.
var errNonsense = errors.New("nonsense")

func readJSON(box *os.Root, name string, v any) error {
	data, err := box.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", name, errNonsense, err)
	}
	return nil
}

// note makes an empty file, once. It does not wait for the disk: after a power cut nothing of a sandbox runs, and one that is started
// again because its note was lost holds, until the journal, which is on the disk, lets an agent run.
func note(box *os.Root, name string) error {
	file, err := box.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}
