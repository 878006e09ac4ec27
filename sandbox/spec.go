package sandbox

import (
	"time"

	"torno/internal/approval"
)

// Spec is a run fully compiled against its profile: plain data, ready to launch, printable. It has no field for
// network, privilege, capabilities, devices, host namespaces or the engine's socket: what cannot be said cannot be
// asked for (invariant I1).
type Spec struct {
	Profile string  `json:"profile"`
	RootFS  RootFS  `json:"rootfs"`
	Process Process `json:"process"`
	// Mounts are the workspace, the context and the profile's programs, outermost target first: a later one may lie inside an
	// earlier one.
	Mounts []Mount `json:"mounts"`
	// CopyOf is what the workspace's mount would be, if its source were not a copy of it that the watcher makes; nil where it is none.
	// Launchers do not read it.
	CopyOf  *Mount        `json:"copy_of,omitempty"`
	Sockets []Socket      `json:"sockets,omitempty"`
	Door    *Door         `json:"door,omitempty"` // nil for none
	Files   []File        `json:"files,omitempty"`
	Answer  Answer        `json:"answer"`
	Limits  Limits        `json:"limits"`
	Timeout time.Duration `json:"timeout"`
	// Approvals says what becomes of the agent's questions whether it may call a tool; nil where it asks none.
	Approvals *approval.Policy `json:"approvals,omitempty"`
	// Attempts is how often the run may be tried in all when its sandbox is lost; 0 and 1 are once.
	Attempts int `json:"attempts,omitempty"`
	// Owners are the users of the host that may own the workspace. The child has the rights of its owner to files, and no
	// other's. 0 counts where the child has a uid of its own (idmapped mounts), in mounts that are Allowed.
	Owners []uint32 `json:"owners,omitempty"`
	// Artifacts are patterns of files in the workspace that the answer tells of. Launchers do not read it.
	Artifacts []string `json:"artifacts,omitempty"`
	// AtLeast are the guarantees without which the run is refused.
	AtLeast []GuaranteeKey `json:"at_least,omitempty"`
}

// RootFS is what the child sees as its system. Exactly one of Host and Image is set.
type RootFS struct {
	Host bool `json:"host,omitempty"` // the host's own programs, read-only, on an empty root
	// Image is the name of an image, or a place on this machine, see Place. Which of them a launcher knows is its own.
	Image string `json:"image,omitempty"`
	Pull  bool   `json:"pull,omitempty"` // fetch the image where it is missing
}

// Process is what init runs once it has proved the mounts.
type Process struct {
	Argv  []string `json:"argv"`
	Env   []string `json:"env"` // NAME=value, complete: nothing is added from the host
	Dir   string   `json:"dir"`
	Umask int      `json:"umask"`
	// Stdin keeps the agent's standard input open for Attachment.Input; otherwise it is empty.
	Stdin bool `json:"stdin,omitempty"`
	// Lasting has the standard input outlive attachments: every one of them can write to it, and nothing but the sandbox's end ends it. A
	// write that was broken off may leave a part of itself. It goes with Stdin.
	Lasting bool `json:"lasting,omitempty"`
	// Agent says that standard output is the lines of an adapter of package agent, and of which one.
	Agent string `json:"agent,omitempty"`
	// Session is the session with which the agent goes on, as the request names it; "" for a new one. Launchers do not read it: before
	// the sandbox is made, the watcher puts what is kept of the session among the Files, as SessionFile.
	Session string `json:"session,omitempty"`
}

// SessionFile is the name of the file with a session.
const SessionFile = "session"

// Source is a place on the host: Rel is opened beneath the held handle of the operator's directory Base, component by
// component, without following a link. Rel "." is Base itself.
type Source struct {
	Base string `json:"base"`
	Rel  string `json:"rel"`
}

// Mount is a directory (or, for context, a file) that the child sees at Target.
type Mount struct {
	Source Source `json:"source"`
	// Engine is the same place as the engine sees it, for a launcher that has to bind by path. "" where that is Source.
	Engine string `json:"engine,omitempty"`
	// Target is the absolute path in the child, which is the parent's own view of the path.
	Target string `json:"target"`
	// Prefix is Target or a directory above it: the place where the sandbox's slot is bound, so that a mount can be
	// moved in below it even when the sandbox already runs.
	Prefix    string `json:"prefix"`
	Workspace bool   `json:"workspace,omitempty"` // the only writable mount; every other one is read-only
	// Allowed says that the source lies below a root for workspaces. A child of root owns what root owns there alone.
	Allowed bool `json:"allowed,omitempty"`
	// Programs says that the profile names the source, and no request. It is all of Base, which lies in no root of a parent's.
	// Only root and the watcher's user may change what lies there, and to the child its files are another user's.
	Programs bool `json:"programs,omitempty"`
}

// WorkspaceMount is the mount that the child may write.
func (s Spec) WorkspaceMount() Mount {
	for _, m := range s.Mounts {
		if m.Workspace {
			return m
		}
	}
	return Mount{}
}

// Pause is for how long the run's clock stands still at most, while it waits for approvals.
func (s Spec) Pause() time.Duration {
	if s.Approvals == nil {
		return 0
	}
	return s.Approvals.Pause
}

// Longest is how long the run may take, with the longest Pause. 0 is no bound.
func (s Spec) Longest() time.Duration {
	if s.Timeout == 0 {
		return 0
	}
	return s.Timeout + s.Pause()
}

// Terms returns what the journal keeps of a released run: all but the arguments, environment and files, which are in the sandbox. A
// watcher that takes the run up goes by them: init, keeper and door were given these, whatever the policy says since.
func (s Spec) Terms() Spec {
	s.Process.Argv, s.Process.Env, s.Files = nil, nil, nil
	return s
}

// WorkspacePath is where the workspace is on the host.
func (s Spec) WorkspacePath() string {
	source := s.WorkspaceMount().Source
	if source.Rel == "." || source.Rel == "" {
		return source.Base
	}
	return source.Base + "/" + source.Rel
}

// Socket is one of the operator's unix sockets that the child may reach. It comes from the profile, never from a request.
type Socket struct {
	Host   string `json:"host"`
	Target string `json:"target"`
	// Port is a port of 127.0.0.1 in the sandbox that leads to the socket too; 0 for none. Init listens there before the agent starts.
	Port uint16 `json:"port,omitempty"`
	// Lasting says that its owner may make the socket anew while the sandbox lives. The sandbox gets the directory that it lies in,
	// which holds nothing else, and finds the socket in the directory of Target.
	Lasting bool `json:"lasting,omitempty"`
}

// DoorSocket is where a child finds its door. The directory holds nothing else.
const DoorSocket = "/run/torno/door/sock"

// Door is what a run may do through the operator's model gateway, which is its only way out. It comes from the profile, never
// from a request. Launchers do not read it: before the sandbox is made, the watcher has the gateway open a door and puts its
// socket among the Sockets.
type Door struct {
	Routes []Route `json:"routes"`
	Port   uint16  `json:"port"` // of 127.0.0.1 in the sandbox
	// What may be spent, by everything that counts for the same scope. Absent is no limit.
	Run       Allowance `json:"run,omitzero"`
	Subagent  Allowance `json:"subagent,omitzero"`   // all runs of the run's subagent
	Tree      Allowance `json:"tree,omitzero"`       // all runs of the outbox
	OutboxDay Allowance `json:"outbox_day,omitzero"` // all runs of the outbox, on one day
	// CountSubagent says that what a subagent spends is counted: a profile, be it another one, bounds it.
	CountSubagent bool `json:"count_subagent,omitempty"`
	// Record says that the gateway writes the conversation to a file of its own.
	Record bool `json:"record,omitempty"`
}

// Route is one of the gateway's routes to which a door leads. Of the routes of a door one may have no Prefix.
type Route struct {
	Name   string `json:"name"`
	Prefix string `json:"prefix,omitempty"` // the beginning of a path, such as "/npm", which is taken off
}

// Allowance is what may be spent. A limit that is nil is none; one of 0 allows nothing.
type Allowance struct {
	InputTokens  *int64 `json:"input_tokens,omitempty"`
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	Requests     *int64 `json:"requests,omitempty"`
	Money        *int64 `json:"money_nano,omitempty"` // thousand-millionths of the unit in which prices are given
	Parallel     *int64 `json:"parallel,omitempty"`   // requests at a time
	KeepForLast  int    `json:"keep_for_last,omitempty"`
}

// File is a host-owned file that the child finds, read-only, as Target below RunDir.
type File struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// RunDir is where a child finds its host-owned read-only files.
const RunDir = "/run/torno/run"

// Home is the child's home directory, a private file system that is gone with the sandbox.
const Home = "/home/agent"

// Answer is how the child's answer reaches its parent: through a file in the workspace.
type Answer struct {
	Path       string `json:"path"`                  // absolute in the child, inside the workspace; "" for none
	FromStdout bool   `json:"from_stdout,omitempty"` // init writes the agent's standard output there, unless the agent wrote it
	Max        int64  `json:"max,omitempty"`         // bytes that init writes there at most; longer output is whole in a file beside it
}

// Limits bound a sandbox. None of them is optional: a launcher that cannot enforce one says so in its Guarantees.
type Limits struct {
	Memory    int64 `json:"memory"`     // bytes, swap included
	CPUs      int64 `json:"cpus_milli"` // thousandths of a processor
	Pids      int64 `json:"pids"`       // processes and threads of the agent; init adds its own
	OpenFiles int64 `json:"open_files"`
	FileSize  int64 `json:"file_size"` // bytes of one file
	Tmp       int64 `json:"tmp"`       // bytes of /tmp
	Home      int64 `json:"home"`      // bytes of the home directory
	Shm       int64 `json:"shm"`       // bytes of /dev/shm
	Log       int64 `json:"log"`       // bytes of output that the launcher keeps for a replay
	// What the workspace may hold, with all that is in it already. The watcher looks at it while the child runs, so a
	// launcher has nothing to do with these.
	Workspace      int64 `json:"workspace"`       // bytes that are allocated
	WorkspaceFiles int64 `json:"workspace_files"` // names in it, at every depth
}
