package configs

import (
	"embed"
	"time"

	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// Examples holds examples/*.yaml: minimal.yaml, full.yaml with every key explained, and one for each kind of agent.
//
//go:embed examples/*.yaml
var Examples embed.FS

// Config is everything that a watcher is told. All paths are absolute and as the watcher sees them, unless said
// otherwise. A Config from Parse, Load or Local is complete and valid.
type Config struct {
	State      string // the directory of the journal and the control socket
	MaxRunning int    // of all outboxes together
	Queue      int    // requests that wait, of one outbox that does not say otherwise
	UIDs       UIDs
	Mounts     MountMode
	Accept     []sandbox.GuaranteeKey // limits that a start demands and that this operator does without
	Disk       Disk
	Pool       Pool
	Init       string // sandbox-init for the sandboxes; "" is the one beside the watcher
	Log        Log
	Metrics    string // "127.0.0.1:9464", where numbers are shown beside the control socket; "" for nowhere
	Retention  Retention
	Shutdown   Shutdown
	Gateway    Gateway
	Profiles   []compile.Profile // in the order of the file
	Outboxes   []Outbox          // in the order of the file

	launchers launcher.List
	file      string                       // its own, as Load was told; "" where there is none
	cpus      int                          // of the machine
	settings  map[string]launcher.Settings // of each of them, by its name
}

// UIDs is the range from which each sandbox gets a uid and a gid of its own, and the gateway that the watcher keeps another one. No user of
// the host may have an id in it.
type UIDs struct {
	First int64
	Count int64
}

// Gateway is the id of the gateway: the one behind those of the sandboxes, of which the one in slot n, counted from 1, has First+n.
func (u UIDs) Gateway() int64 { return u.First + u.Count + 1 }

// Last is the highest id of the range.
func (u UIDs) Last() int64 { return u.Gateway() }

// MountMode says how workspace and context get into a sandbox.
type MountMode string

// The modes.
const (
	MountsAuto     MountMode = "auto"      // by handle where that works, else by path
	MountsByHandle MountMode = "by-handle" // or the watcher does not start
	MountsByPath   MountMode = "by-path"
)

// Disk is what has to stay free on every file system that workspaces lie on. Where it does not, runs are ended.
type Disk struct {
	Floor      int64 // bytes
	FloorFiles int64 // inodes, where the file system has a fixed number of them
}

// Pool says how many sandboxes are made ahead of runs.
type Pool struct {
	Size int           // for each profile and set of prefixes of an outbox; 0 is off, and PoolAuto follows what is asked for
	Idle time.Duration // what no request has asked for so long is given up
	Most int           // of all together
}

// PoolAuto is the size of a pool that follows what is asked for.
const PoolAuto = -1

// Log is what the watcher says to its operator.
type Log struct {
	Format LogFormat
	Level  LogLevel
}

// LogFormat is the form of a log line.
type LogFormat string

// The formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, else JSON
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// LogLevel is the least important kind of line that is written.
type LogLevel string

// The levels.
const (
	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)

// Retention bounds what is kept of runs that are over. A run whose request still lies in its outbox is kept.
type Retention struct {
	Age           time.Duration // since the end
	Runs          int           // of each outbox
	Size          int64         // of the journal
	MaxRequestAge time.Duration // how long the rest is remembered: that a request was there
	Workspaces    KeptWorkspaces
}

// KeptWorkspaces bounds the workspaces that clients have made below workspaces in their outboxes, for each outbox. What is over a bound and
// not needed any more is removed.
type KeptWorkspaces struct {
	Remove Removal
	Age    time.Duration // since the end of the last run in it
	Number int
	Size   int64 // of all together
}

// Removal says which workspaces may be removed.
type Removal string

// The choices.
const (
	RemoveNone Removal = "none"
	RemoveMade Removal = "made" // those that clients made
	RemoveAll  Removal = "all"  // and those in the same place that a parent named
)

// Shutdown is what happens to running children when the watcher is told to stop.
type Shutdown struct {
	Budget  time.Duration // after it everything is killed
	Running RunningMode
}

// RunningMode says whether a shutdown waits for children.
type RunningMode string

// The modes.
const (
	Drain  RunningMode = "drain"  // wait as long as the budget lasts
	Cancel RunningMode = "cancel" // end them at once, politely
	Keep   RunningMode = "keep"   // leave them to the next watcher
)

// Outbox is one directory that a parent and the watcher share.
type Outbox struct {
	Name  string // its identity in the journal: moving the directory runs nothing again
	Dir   string
	Allow []string // roots below which workspaces lie; never empty
	Read  []string // roots below which context lies
	// ReadAllowed makes the allowed roots readable roots too.
	ReadAllowed     bool
	Profiles        []string // names on offer; the first is for requests that name none
	MaxRunning      int
	Queue           int
	Busy            BusyMode
	Owners          []uint32 // users whose files the children may own; empty is the owner of Dir
	Paths           []compile.PathMap
	MaxRequestBytes int64
	Tree            Tree
}

// Tree bounds the tree of an outbox's runs.
type Tree struct {
	Children int // of one run, that have not ended
	Depth    int // 1 allows no children of runs
}

// BusyMode says what becomes of a request whose workspace is in use.
type BusyMode string

// The modes.
const (
	BusyRefuse BusyMode = "refuse"
	BusyQueue  BusyMode = "queue"
)
