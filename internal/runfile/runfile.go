// Package runfile is the whole conversation between a launcher and sandbox-init, which is process 1 of every sandbox.
//
// The launcher writes a File where the sandbox sees it, read-only, as Path, and gives init its Nonce as the only argument.
// Neither the agent's argv nor its environment goes through the engine, which cuts them off at 128 KiB without saying so.
//
// Init begins by holding. It says so as the first bytes of its standard error, and waits for the release on its standard
// input:
//
//	torno-init 2 holding
//
// Until the release init reads nothing of the run. Meanwhile it does what is the same for every run: it proves its own rights, and puts
// itself under the filter in FilterPath. When its input ends before the release, it ends with AbandonedExit. After the release
// it writes one of these lines, and no other process writes anything before it:
//
//	torno-init 1 started <unix nanoseconds>
//	torno-init 1 failed <code> <one sentence>
//
// The first is said when everything in the File is proved and set up. From there on standard error is the agent's, and
// so is the exit code: n for an exit, 128+n for a death by signal n, 126 for a program that cannot be executed, 127 for
// one that is not there, each as ExitFor spells it. Init may add lines of its own that begin with "torno-init: ", but the
// agent can print the same, so that no byte after the started line proves anything.
//
// Where the release was MarkedRelease, the last bytes on both streams are an EndMark, in which init says how it ends. The token in it
// came with the release, and the agent never had it: this mark does prove something. It is missing where init was killed, and where a
// stream was full and was not read.
//
// The second is said when the agent was not started, and then nothing follows but the exit code FailedExit. An exit
// code without a started line is not the agent's, whatever it is, and with a started line none is init's.
package runfile

import (
	"strconv"
	"time"
)

// Where things are inside every sandbox.
const (
	Dir  = "/run/torno/run"              // the run's host-owned files
	Path = Dir + "/run.json"             // the File
	Init = "/run/torno/bin/sandbox-init" // init itself

	// FilterPath is a program of the kernel's for system calls (struct sock_filter, one after the other), which init puts itself under while
	// it holds, and with it the agent. It is the sandbox's and no run's: it is there before init begins, in a sandbox that was made ahead of
	// its run, too.
	FilterPath = Dir + "/filter"
)

// Version is the version of the File and of init's first line.
const Version = 1

// Reached is what init says of an address that it could connect to, when it is run with "reach" and addresses instead of
// a nonce. Of another address it says why it could not.
const Reached = "reached"

// CannotShut is init's exit code when it is run with "shut" and the kernel cannot do what File.Shut demands.
const CannotShut = 10

// What a File may hold at most.
const (
	MaxSize   = 16 << 20 // bytes of the whole file
	MaxAnswer = 64 << 20 // bytes of an answer that init writes; until the agent has ended they are in its memory
	maxSteps  = 4096     // steps of a filter; the kernel takes no more (BPF_MAXINSNS)
)

// StepSize is how many bytes a step of a filter has.
const StepSize = 8

// Tasks is how many of the sandbox's processes and threads init takes for itself at most. A launcher adds them to the
// limit that the agent was promised.
const Tasks = 20

// InitEnv is init's own environment. Its runtime then makes no thread for each processor of the machine: in gVisor each costs
// as much as a process.
const InitEnv = "GOMAXPROCS=1"

// File is one run, for init.
type File struct {
	Version int `json:"version"`
	// Nonce must equal init's only argument, so that init never runs a file that was made for another sandbox.
	Nonce string   `json:"nonce"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"` // NAME=value, complete: the agent gets exactly this, not even init's own
	Dir   string   `json:"dir"`
	// Stdin leaves what follows the release on init's input to the agent. Otherwise the agent's input is /dev/null.
	Stdin   bool     `json:"stdin,omitempty"`
	Umask   int      `json:"umask"`
	Rlimits []Rlimit `json:"rlimits"`
	Mounts  []Mount  `json:"mounts"`
	Answer  Answer   `json:"answer"`
	// Doors are the sockets of the host's that the agent may reach, where init stands between.
	Doors []Door `json:"doors,omitempty"`
	// Forwards are ports of the sandbox's own loopback address that lead to sockets.
	Forwards []Forward `json:"forwards,omitempty"`
	// Shut keeps the agent from sockets in the file system that others have made, but for those in mounts of Sockets. Init does not go
	// on where the kernel cannot do that.
	Shut bool `json:"shut,omitempty"`
	// Allowed is the agent's time, in which the machine may sleep, and Grace what the watcher has then for ending it. After both
	// init kills everything: a bound needs no watcher (I19). Without Allowed, as in a launcher's own trials, there is no bound.
	Allowed time.Duration `json:"allowed,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
}

// Grace is for a watcher that lives: all rungs of its longest ladder fit in, so that it always comes before init. The machine's
// sleep is no part of it: a watcher that wakes up with its children has all of it.
const Grace = 30 * time.Second

// Rlimit is one resource limit, hard and soft alike. Name is one of RlimitNames.
type Rlimit struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// RlimitNames are the limits that can be set: the ones that init itself, which runs under them too, is known to survive.
var RlimitNames = []string{"core", "fsize", "nofile", "nproc"}

// Mount is a path that must be exactly what the host pinned.
type Mount struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"` // st_dev, as fstat tells it
	Inode  uint64 `json:"inode"`
	// Unnumbered says that the sandbox's kernel numbers files in its own way and does not show the flags of the host's
	// mounts: Device and Inode are 0. Init proves only that the path leads there without a link, and that a mount which
	// must be writable is not read-only as a whole. Which directory it is, and that nothing read-only can be written, the
	// host proves where the mount lies.
	Unnumbered bool `json:"unnumbered,omitempty"`
	// Writable says how it must be mounted: init takes a writable mount where a read-only one belongs for an attack,
	// and the reverse for a mistake.
	Writable bool `json:"writable"`
	// Hardened says that it must also be mounted nosuid and nodev. A launcher that binds by path cannot promise that.
	Hardened bool `json:"hardened,omitempty"`
	// Sockets says that it is a socket of the profile's, or the directory of one.
	Sockets bool `json:"sockets,omitempty"`
}

// Door is a socket of the host's that the sandbox cannot open. Init listens for it, at its number in DoorsDir, and Path is a
// link that leads there. For each connection it writes a byte to its channel, and gets DoorOpen with a connected descriptor or
// DoorShut without.
type Door struct {
	Path string `json:"path"`
}

// Forward is a port of 127.0.0.1, in the sandbox, that leads to a socket: agents that speak HTTP are told an address, and no
// socket. Path is that of a door, or else a socket that the sandbox can open itself. Init listens before the agent starts.
type Forward struct {
	Port uint16 `json:"port"`
	Path string `json:"path"`
}

// MinPort is the first port that a user without rights may listen at.
const MinPort = 1024

// The channel of the first door is this descriptor of init's, and the others follow.
const (
	FirstDoor = 3
	maxDoors  = 16
	DoorOpen  = 'o'
	DoorShut  = 's'
)

// DoorsDir is a private file system in which init's sockets are.
const DoorsDir = "/run/torno/sockets"

// DoorName is where init listens for a door.
func DoorName(number int) string { return DoorsDir + "/" + strconv.Itoa(number) }

// Answer says what init does about the answer file. Whatever lies at Path when the run begins is moved aside, to the
// same name with PreviousSuffix, so that an old answer is never taken for a new one.
type Answer struct {
	Path string `json:"path"` // in a writable mount; "" for none
	// FromStdout has init copy the agent's standard output there, when the agent has ended without a file of its own there.
	FromStdout bool  `json:"from_stdout"`
	Max        int64 `json:"max"` // bytes of that copy; longer output is whole in a file beside it, with WholeSuffix
}

// What is added to an answer's name.
const (
	PreviousSuffix = ".previous" // for a stale one
	WholeSuffix    = ".whole"    // for all of a standard output that is longer than the answer may be
)
