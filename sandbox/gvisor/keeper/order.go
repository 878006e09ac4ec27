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

// Order tells a keeper what to start.
type Order struct {
	// Plan is the plan of the mounts that the keeper makes first; nil if the launcher has mounted everything.
	Plan *lay.Plan `json:"plan,omitempty"`
	// Argv is the runtime's command line. The runtime starts the sandbox, writes the sentry's pid into PidName and
	// ends.
	Argv []string `json:"argv"`
	// Trouble are the files in which the runtime describes its failures.
	Trouble []string `json:"trouble"`
	// Log is the number of output bytes to keep. At the end the log may exceed it by as much as two pipes hold.
	Log int64 `json:"log"`
	// Word is the word that init waits for on its standard input. The watcher that starts the keeper gives the release.
	// If this watcher goes away without a release, the input ends.
	Word string `json:"word"`
	// Stdin leaves the agent's standard input open after the word.
	Stdin bool `json:"stdin,omitempty"`
	// Doors are the sockets of the host that the sandbox may reach. The runtime passes the channel of each to the
	// sandbox, as descriptor runfile.FirstDoor and the following ones.
	Doors []Door `json:"doors,omitempty"`
	// Allowed is the agent's time, from the word on. Grace is the additional time in which init and a watcher can end
	// the agent. After both the keeper kills the sandbox.
	Allowed time.Duration `json:"allowed,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	// Ahead is true if the sandbox is made ahead of its run. An Arrival brings the run.
	Ahead bool `json:"ahead,omitempty"`
	// Group bounds the sandbox; nil if no group can be made.
	Group *cgroups.Plan `json:"group,omitempty"`
}

// Arrival tells a keeper about the run for its sandbox, which was made ahead. It comes once, while init holds.
type Arrival struct {
	Doors   []Door        `json:"doors,omitempty"` // in the same order as in the Order
	Allowed time.Duration `json:"allowed,omitempty"`
}

// Door is a socket of the host that the sandbox may reach. A Door without a Path is not known yet: an Arrival brings
// it.
type Door struct {
	Path string `json:"path"`
	// Name is set if Path is the directory that contains the socket; Name is the socket's name there. The directory's
	// owner may make the socket anew. So the keeper looks it up at each connection, and it has to belong to this owner.
	Name   string `json:"name,omitempty"`
	Device uint64 `json:"device"` // as the launcher found it
	Inode  uint64 `json:"inode"`
	// UID and GID are the ids with which the keeper connects for the sandbox. So the sandbox may open only the sockets
	// that these ids may open, and the listener sees these ids.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// End tells how a sandbox ended.
type End struct {
	Started bool `json:"started"`          // the runtime has started the sandbox
	Code    int  `json:"code"`             // of the sentry, which ends with init's code
	Signal  int  `json:"signal,omitempty"` // the signal that killed the sentry
	Asked   bool `json:"asked,omitempty"`  // it was killed because a watcher asked for it
	// Output is how much output came through the pipes. Dropped is how much of it came before the log's first frame. If
	// a reader has read the log to its end and has less than Output, it knows that the rest is lost: the disk was full,
	// or a power cut took it.
	Output  output.Progress `json:"output,omitzero"`
	Dropped output.Progress `json:"dropped,omitzero"`
	// Trouble is the runtime's own message, if it did not start the sandbox or broke down in it.
	Trouble    string      `json:"trouble,omitempty"`
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt time.Time   `json:"finished_at"`
	FinishedIn boot.Moment `json:"finished_in,omitzero"` // the same moment, on a clock that nobody can set
	Use        cgroups.Use `json:"use"`
}

// These are the names in a box.
const (
	orderName   = "order.json"
	PidName     = "pid"
	lockName    = "lock"
	startedName = "started"
	socketName  = "socket"
	endName     = "end.json"
	logName     = "keeper.log" // the keeper's own messages
)

// WriteOrder writes an order into a box that no other process uses yet.
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

// errNonsense says that a file exists but its content makes no sense.
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

// note makes an empty file, once. It does not wait for the disk. After a power cut nothing of a sandbox runs. If the
// note was lost, the sandbox may be started again, but then it holds until the journal, which is on the disk, lets an
// agent run.
func note(box *os.Root, name string) error {
	file, err := box.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}
