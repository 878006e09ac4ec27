// Package runfile is what a launcher tells sandbox-init: one host-owned file that the sandbox sees read-only. Neither
// argv nor environment goes through the engine, which cuts them off at 128 KiB without saying so.
package runfile

// Where things are inside every sandbox.
const (
	Dir  = "/run/torno/run"              // the run's host-owned files
	Path = Dir + "/run.json"             // the File
	Init = "/run/torno/bin/sandbox-init" // init itself
)

// What init says. Started is followed by unix nanoseconds and a newline, and is the first thing on standard error:
// before it no byte is the child's, after it every byte is. Failed is followed by a Failure's code, a space, a sentence
// and a newline, and then nothing more.
const (
	Started = "torno-init 1 started "
	Failed  = "torno-init 1 failed "
)

// FailedExit is init's own exit code before the started line; behind that line no code is ever init's own.
const FailedExit = 125

// File is one run, for init. Version is 1.
type File struct {
	Version int `json:"version"`
	// Nonce must equal init's first argument, so that init never runs a file that was made for another sandbox.
	Nonce   string   `json:"nonce"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	Umask   int      `json:"umask"`
	Rlimits []Rlimit `json:"rlimits"`
	Mounts  []Mount  `json:"mounts"`
	Answer  Answer   `json:"answer"`
}

// Rlimit is one resource limit, hard and soft alike. Name is as in "nofile", "fsize", "core", "nproc".
type Rlimit struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// Mount is a path that must be exactly what the host pinned.
type Mount struct {
	Path     string `json:"path"`
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Writable bool   `json:"writable"` // false: init also makes sure that the mount is read-only
}

// Answer says what init does about the answer file.
type Answer struct {
	Path       string `json:"path"`        // "" for none
	FromStdout bool   `json:"from_stdout"` // init copies the agent's standard output there
	Max        int64  `json:"max"`
}

// Failure is why init did not start the agent.
type Failure string

// The failures.
const (
	FailureRunFile  Failure = "run_file" // missing, unreadable, or for another sandbox
	FailureIdentity Failure = "identity" // root, or a capability is left
	FailureMount    Failure = "mount"    // a path is not what the host pinned
	FailureSetup    Failure = "setup"    // a limit or a pipe could not be made
)
