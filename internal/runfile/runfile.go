// Package runfile defines the whole conversation between a launcher and sandbox-init, which is process 1 of every
// sandbox.
//
// The launcher writes a File to Path, where the sandbox sees it read-only. It gives init the File's Nonce as the only
// argument. Neither the agent's argv nor its environment goes through the engine, because the engine cuts them off at
// 128 KiB without saying so.
//
// Init begins by holding. It says so in the first bytes of its standard error, and waits for the release on its
// standard input:
//
//	torno-init 2 holding
//
// Until the release init reads nothing of the run. Meanwhile it does the work that is the same for every run: it proves
// its own rights, and puts itself under the filter in FilterPath. If its input ends before the release, init ends with
// AbandonedExit. After the release it writes one of these lines, and no other process writes anything before it:
//
//	torno-init 1 started <unix nanoseconds>
//	torno-init 1 failed <code> <one sentence>
//
// Init writes the first line when everything in the File is proved and set up. From then on standard error is the
// agent's. So is the exit code, as ExitFor spells it: n for an exit, 128+n for a death by signal n, 126 for a program
// that cannot be executed, 127 for a program that does not exist. Init may add lines of its own that begin with
// "torno-init: ". The agent can print the same, so no byte after the started line proves anything.
//
// If the release was MarkedRelease, the last bytes on both streams are an EndMark, in which init says how it ends. The
// token in the mark came with the release, and the agent never had it. So this mark does prove something. It is missing
// if init was killed, or if a stream was full and nobody read it.
//
// Init writes the second line if it did not start the agent. Then nothing follows except the exit code FailedExit.
// Without a started line no exit code is the agent's; with a started line no exit code is init's own.
package runfile

import (
	"strconv"
	"time"
)

// These are paths inside every sandbox.
const (
	Dir  = "/run/torno/run"              // the run's host-owned files
	Path = Dir + "/run.json"             // the File
	Init = "/run/torno/bin/sandbox-init" // init itself

	// FilterPath holds a filter of system calls for the kernel (struct sock_filter, one after the other). While init
	// holds, it puts itself under this filter, and with itself the agent. The filter belongs to the sandbox and not to
	// a run: it is there before init begins, even in a sandbox that was made ahead of its run.
	FilterPath = Dir + "/filter"
)

// Version is the version of the File and of init's first line.
const Version = 1

// Reached is init's word for an address that it could connect to, if it is run with "reach" and addresses instead of a
// nonce. For any other address init says why it could not.
const Reached = "reached"

// CannotShut is init's exit code when it is run with "shut" and the kernel cannot do what File.Shut demands.
const CannotShut = 10

// These bound a File.
const (
	MaxSize   = 16 << 20 // bytes of the whole file
	MaxAnswer = 64 << 20 // bytes of an answer that init writes; init keeps them in memory until the agent has ended
	maxSteps  = 4096     // steps of a filter; the kernel takes no more (BPF_MAXINSNS)
)

// StepSize is the size of a filter's step, in bytes.
const StepSize = 8

// Tasks bounds how many of the sandbox's processes and threads init takes for itself. A launcher adds them to the limit
// that the agent was promised.
const Tasks = 20

// InitEnv is init's own environment. With it Go's runtime does not make a thread for each processor of the machine. In
// gVisor each thread costs as much as a process.
const InitEnv = "GOMAXPROCS=1"

// File describes one run to init.
type File struct {
	Version int `json:"version"`
	// Nonce must equal init's only argument, so that init never runs a file that was made for another sandbox.
	Nonce string   `json:"nonce"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"` // NAME=value, complete: the agent gets exactly this, and nothing of init's own
	Dir   string   `json:"dir"`
	// Stdin gives the agent everything that follows the release on init's input. Without it the agent's input is
	// /dev/null.
	Stdin   bool     `json:"stdin,omitempty"`
	Umask   int      `json:"umask"`
	Rlimits []Rlimit `json:"rlimits"`
	Mounts  []Mount  `json:"mounts"`
	Answer  Answer   `json:"answer"`
	// Doors are sockets of the host that the agent may reach through init.
	Doors []Door `json:"doors,omitempty"`
	// Forwards are ports of the sandbox's own loopback address that lead to sockets.
	Forwards []Forward `json:"forwards,omitempty"`
	// Shut keeps the agent from sockets in the file system that others have made, except in mounts with Sockets. If the
	// kernel cannot do that, init does not go on.
	Shut bool `json:"shut,omitempty"`
	// Allowed is the agent's time; it also counts while the machine sleeps. Grace is the time that the watcher then has
	// to end the agent. After both init kills everything: a bound needs no watcher (I19). Without Allowed, as in a
	// launcher's own trials, there is no bound.
	Allowed time.Duration `json:"allowed,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
}

// Grace gives a live watcher time for all rungs of its longest ladder, so the watcher always comes before init. Time in
// which the machine sleeps does not count: a watcher that wakes up with its children has all of Grace.
const Grace = 30 * time.Second

// Rlimit is one resource limit, hard and soft alike. Name is one of RlimitNames.
type Rlimit struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// RlimitNames lists the limits that can be set. Init itself runs under them too, and is known to survive them.
var RlimitNames = []string{"core", "fsize", "nofile", "nproc"}

// Mount is a path that must lead to exactly the file or directory that the host pinned.
type Mount struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"` // st_dev, as fstat tells it
	Inode  uint64 `json:"inode"`
	// Unnumbered says that the sandbox's kernel numbers files in its own way and does not show the flags of the host's
	// mounts. Device and Inode are 0 then. Init proves only that the path leads there without a link, and that a mount
	// that must be writable is not read-only as a whole. The host proves the rest where the mount lies: that it is the
	// right directory, and that nothing read-only can be written.
	Unnumbered bool `json:"unnumbered,omitempty"`
	// Writable says how it must be mounted. If a mount is writable and should be read-only, init takes that for an
	// attack; in the reverse case, for a mistake.
	Writable bool `json:"writable"`
	// Hardened says that it must also be mounted nosuid and nodev. A launcher that binds by path cannot promise that.
	Hardened bool `json:"hardened,omitempty"`
	// Sockets says that it is a socket of the profile, or the directory of such a socket.
	Sockets bool `json:"sockets,omitempty"`
}

// Door is a socket of the host that the sandbox cannot open. Init listens for it at its number in DoorsDir, and Path is
// a link that leads there. For each connection init writes a byte to the door's channel. It gets back DoorOpen with a
// connected descriptor, or DoorShut without one.
type Door struct {
	Path string `json:"path"`
}

// Forward is a port of 127.0.0.1, in the sandbox, that leads to a socket: agents that speak HTTP take an address, but
// no socket. Path is the path of a door, or of a socket that the sandbox can open itself. Init listens before the agent
// starts.
type Forward struct {
	Port uint16 `json:"port"`
	Path string `json:"path"`
}

// MinPort is the first port that a user without rights may listen at.
const MinPort = 1024

// FirstDoor is init's descriptor for the channel of the first door. The channels of the other doors follow it.
const (
	FirstDoor = 3
	maxDoors  = 16
	DoorOpen  = 'o'
	DoorShut  = 's'
)

// DoorsDir is a private file system that holds init's sockets.
const DoorsDir = "/run/torno/sockets"

// DoorName returns the path at which init listens for a door.
func DoorName(number int) string { return DoorsDir + "/" + strconv.Itoa(number) }

// Answer tells init how to treat the answer file. When the run begins, init moves aside whatever lies at Path, to the
// same name with PreviousSuffix. So an old answer is never taken for a new one.
type Answer struct {
	Path string `json:"path"` // in a writable mount; "" for none
	// FromStdout makes init copy the agent's standard output to Path, if the agent has ended without a file of its own
	// there.
	FromStdout bool  `json:"from_stdout"`
	Max        int64 `json:"max"` // bytes of that copy; a longer output is whole in a file beside it, with WholeSuffix
}

// These are added to an answer's name.
const (
	PreviousSuffix = ".previous" // for a stale answer
	WholeSuffix    = ".whole"    // for all of a standard output that is longer than the answer may be
)
