package configs

import (
	"embed"
	"time"

	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// Examples holds examples/*.yaml, among them minimal.yaml, full.yaml, which explains every key, and one for each kind
// of agent.
//
//go:embed examples/*.yaml
var Examples embed.FS

// Config is the whole configuration of a watcher. Unless said otherwise, paths are absolute and as the watcher sees
// them. A Config from Parse, Load or Local is complete and valid.
type Config struct {
	State      string // the directory of the journal and the control socket
	MaxRunning int    // the most runs at a time, of all outboxes together
	Queue      int    // the most requests that wait in one outbox; an outbox may have its own bound
	UIDs       UIDs
	Mounts     MountMode
	Accept     []sandbox.GuaranteeKey // limits that a start normally demands, and that this operator does without
	Disk       Disk
	Pool       Pool
	Init       string // the program sandbox-init for the sandboxes; "" is the one beside the watcher
	Log        Log
	Metrics    string // an address such as "127.0.0.1:9464" for metrics; "" shows them only at the control socket
	Retention  Retention
	Shutdown   Shutdown
	Gateway    Gateway
	Profiles   []compile.Profile // in the order of the file
	Outboxes   []Outbox          // in the order of the file

	launchers launcher.List
	file      string                       // the configuration's file, as Load was told; "" without a file
	local     bool                         // it was made by Local
	cpus      int                          // the machine's number of processors
	settings  map[string]launcher.Settings // the settings of each launcher, by its name
}

// UIDs is a range of ids. Each sandbox gets a uid and a gid of its own from it, and so does the gateway that the
// watcher keeps. No user of the host may have an id in the range.
type UIDs struct {
	First int64
	Count int64
}

// Gateway returns the gateway's id. The sandbox in slot n, counted from 1, has the id First+n; the gateway has the next
// id after the last slot.
func (u UIDs) Gateway() int64 { return u.First + u.Count + 1 }

// Last returns the highest id of the range.
func (u UIDs) Last() int64 { return u.Gateway() }

// MountMode selects how the workspace and the context get into a sandbox.
type MountMode string

// The modes.
const (
	MountsAuto     MountMode = "auto"      // by handle if that works here, else by path
	MountsByHandle MountMode = "by-handle" // if that does not work here, the watcher does not start
	MountsByPath   MountMode = "by-path"
)

// Disk is the space that must stay free on every file system with workspaces. If less is free, the watcher ends runs.
type Disk struct {
	Floor      int64 // bytes
	FloorFiles int64 // inodes, if the file system has a fixed number of them
}

// Pool bounds the sandboxes that are made ahead of runs.
type Pool struct {
	Size int           // for each profile and set of prefixes of an outbox; 0 is off, PoolAuto follows the requests
	Idle time.Duration // a sandbox goes if no request has asked for one of its kind for so long
	Most int           // the most sandboxes of all pools together
}

// PoolAuto is the size of a pool that follows the requests of the last minute.
const PoolAuto = -1

// Log shapes the log that the watcher writes for its operator.
type Log struct {
	Format LogFormat
	Level  LogLevel
}

// LogFormat is the form of a log line.
type LogFormat string

// The formats.
const (
	LogAuto LogFormat = "auto" // text if the log goes to a terminal, else JSON
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// LogLevel is the least important kind of line that the watcher writes.
type LogLevel string

// The levels.
const (
	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)

// Retention bounds the records of runs that are over. A run whose request still lies in its outbox is always kept.
type Retention struct {
	Age           time.Duration // since the run's end
	Runs          int           // the most runs of each outbox
	Size          int64         // of the whole journal
	MaxRequestAge time.Duration // how long a removed run's request is remembered, so that it never runs twice
	Workspaces    KeptWorkspaces
}

// KeptWorkspaces bounds, for each outbox, the workspaces in its directory "workspaces". The watcher removes a workspace
// that is over a bound and no longer needed.
type KeptWorkspaces struct {
	Remove Removal
	Age    time.Duration // since the end of the last run in the workspace
	Number int
	Size   int64 // of all workspaces of the outbox together
}

// Removal chooses the workspaces that may be removed.
type Removal string

// The choices.
const (
	RemoveNone Removal = "none"
	RemoveMade Removal = "made" // workspaces that clients made
	RemoveAll  Removal = "all"  // also workspaces in the same place that a parent named
)

// Shutdown tells what happens to running children when the watcher is told to stop.
type Shutdown struct {
	Budget  time.Duration // then everything that is left is killed
	Running RunningMode
}

// RunningMode selects whether a shutdown waits for running children, ends them or leaves them.
type RunningMode string

// The modes.
const (
	Drain  RunningMode = "drain"  // wait for them as long as the budget lasts
	Cancel RunningMode = "cancel" // ask them to end at once
	Keep   RunningMode = "keep"   // leave them to the next watcher
)

// Outbox is one directory that a parent and the watcher share.
type Outbox struct {
	Name  string // the identity in the journal: if the directory moves, nothing runs again
	Dir   string
	Allow []string // roots below which workspaces may lie; never empty
	Read  []string // roots below which context may lie
	// ReadAllowed makes the allowed roots readable roots too.
	ReadAllowed     bool
	Profiles        []string // names on offer; a request that names none gets the first
	MaxRunning      int
	Queue           int
	Busy            BusyMode
	Owners          []uint32 // users to whom a workspace may belong; empty is the owner of Dir
	Paths           []compile.PathMap
	MaxRequestBytes int64
	Tree            Tree
}

// Tree bounds the tree of an outbox's runs.
type Tree struct {
	Children int // the most children of one run that wait or go on
	Depth    int // 1 allows no children of children
}

// BusyMode selects whether the watcher refuses a request whose workspace is in use, or lets it wait.
type BusyMode string

// The modes.
const (
	BusyRefuse BusyMode = "refuse"
	BusyQueue  BusyMode = "queue"
)
