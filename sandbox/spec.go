package sandbox

import (
	"time"

	"torno/internal/approval"
)

// Spec is a run that was fully compiled against its profile: plain data, ready to launch, printable. It has no field
// for network, privilege, capabilities, devices, host namespaces or the engine's socket. A request cannot ask for
// something that a Spec cannot say (invariant I1).
type Spec struct {
	Profile string  `json:"profile"`
	RootFS  RootFS  `json:"rootfs"`
	Process Process `json:"process"`
	// Mounts lists the workspace, the context and the profile's programs, outermost target first: a later mount may lie
	// inside an earlier one.
	Mounts []Mount `json:"mounts"`
	// CopyOf is set if the watcher copies the workspace for the child; nil without a copy. Then Mounts has the copy,
	// and CopyOf has the mount of the original. Launchers do not read it.
	CopyOf  *Mount        `json:"copy_of,omitempty"`
	Sockets []Socket      `json:"sockets,omitempty"`
	Door    *Door         `json:"door,omitempty"` // nil for none
	Files   []File        `json:"files,omitempty"`
	Answer  Answer        `json:"answer"`
	Limits  Limits        `json:"limits"`
	Timeout time.Duration `json:"timeout"`
	// Approvals tells how to treat the agent's questions whether it may call a tool; nil if the agent asks none.
	Approvals *approval.Policy `json:"approvals,omitempty"`
	// Attempts is the total number of tries that the run gets when its sandbox is lost; 0 and 1 both mean one try.
	Attempts int `json:"attempts,omitempty"`
	// Owners lists the users of the host that may own the workspace. The child has its owner's rights to files, and no
	// other user's. 0 (root) counts only if the child has a uid of its own (idmapped mounts), and only in mounts that
	// are Allowed.
	Owners []uint32 `json:"owners,omitempty"`
	// Artifacts lists patterns; the answer tells of the workspace files that match. Launchers do not read it.
	Artifacts []string `json:"artifacts,omitempty"`
	// AtLeast lists the guarantees without which the run is refused.
	AtLeast []GuaranteeKey `json:"at_least,omitempty"`
}

// RootFS is the system that the child sees. Exactly one of Host and Image is set.
type RootFS struct {
	Host bool `json:"host,omitempty"` // the host's own programs, read-only, on an empty root
	// Image is the name of an image, or a place on this machine (see Place). Each launcher decides which forms it
	// knows.
	Image string `json:"image,omitempty"`
	Pull  bool   `json:"pull,omitempty"` // fetch the image if it is missing
}

// Process is the program that init runs after it has proved the mounts.
type Process struct {
	Argv  []string `json:"argv"`
	Env   []string `json:"env"` // NAME=value, complete: nothing is added from the host
	Dir   string   `json:"dir"`
	Umask int      `json:"umask"`
	// Stdin keeps the agent's standard input open for Attachment.Input; otherwise the input is empty.
	Stdin bool `json:"stdin,omitempty"`
	// Lasting lets the standard input outlive attachments: each attachment can write to it, and only the sandbox's end
	// ends it. An interrupted write may leave a part of its bytes there. Lasting requires Stdin.
	Lasting bool `json:"lasting,omitempty"`
	// Agent names an adapter of package agent; then standard output consists of the adapter's lines.
	Agent string `json:"agent,omitempty"`
	// Session is the session that the agent continues, as the request names it; "" for a new session. Launchers do not
	// read it: before the sandbox is made, the watcher adds the stored part of the session to the Files, as
	// SessionFile.
	Session string `json:"session,omitempty"`
}

// SessionFile is the name of the file with a session.
const SessionFile = "session"

// Source is a place on the host. The launcher opens Rel beneath the held handle of the operator's directory Base,
// component by component, and follows no link. Rel "." is Base itself.
type Source struct {
	Base string `json:"base"`
	Rel  string `json:"rel"`
}

// Mount is a directory (or, for context, a file) that the child sees at Target.
type Mount struct {
	Source Source `json:"source"`
	// Engine is the path of the same place as the engine sees it, for a launcher that has to bind by path; "" if it is
	// the path of Source.
	Engine string `json:"engine,omitempty"`
	// Target is the absolute path in the child. If the request gave the path in absolute form, the parent sees the
	// place under the same path.
	Target string `json:"target"`
	// Prefix is Target or a directory above it: the place where the sandbox's slot is bound. So a mount can be moved in
	// below it even while the sandbox runs.
	Prefix    string `json:"prefix"`
	Workspace bool   `json:"workspace,omitempty"` // the only writable mount; all others are read-only
	// Allowed: the source lies below a root for workspaces. If root owns the workspace, root's files count as the
	// child's own only in such mounts.
	Allowed bool `json:"allowed,omitempty"`
	// Programs: the profile names the source, no request does. The source is all of Base, which lies in no root of a
	// parent. Only root and the watcher's user may change the files there. The child sees them as another user's files.
	Programs bool `json:"programs,omitempty"`
}

// WorkspaceMount returns the mount that the child may write to.
func (s Spec) WorkspaceMount() Mount {
	for _, m := range s.Mounts {
		if m.Workspace {
			return m
		}
	}
	return Mount{}
}

// Pause returns the longest time that the run's clock may stand still while it waits for approvals.
func (s Spec) Pause() time.Duration {
	if s.Approvals == nil {
		return 0
	}
	return s.Approvals.Pause
}

// Longest returns the longest time that the run may take, the longest Pause included; 0 means no bound.
func (s Spec) Longest() time.Duration {
	if s.Timeout == 0 {
		return 0
	}
	return s.Timeout + s.Pause()
}

// Terms returns the part that the journal keeps for a released run: everything except the arguments, environment and
// files, which are already in the sandbox. A watcher that takes up the run goes by these terms, because init, keeper
// and door were given them, even if the policy has changed since.
func (s Spec) Terms() Spec {
	s.Process.Argv, s.Process.Env, s.Files = nil, nil, nil
	return s
}

// WorkspacePath returns the path of the workspace on the host.
func (s Spec) WorkspacePath() string {
	source := s.WorkspaceMount().Source
	if source.Rel == "." || source.Rel == "" {
		return source.Base
	}
	return source.Base + "/" + source.Rel
}

// Socket is an operator's unix socket that the child may reach. It comes from the profile, never from a request.
type Socket struct {
	Host   string `json:"host"`
	Target string `json:"target"`
	// Port is a port of 127.0.0.1 in the sandbox that also leads to the socket; 0 for none. Init listens there before
	// the agent starts.
	Port uint16 `json:"port,omitempty"`
	// Lasting: the socket's owner may make it anew while the sandbox lives. Therefore the sandbox gets the socket's
	// whole directory, which holds nothing else, and finds the socket in the directory of Target.
	Lasting bool `json:"lasting,omitempty"`
}

// DoorSocket is the path at which a child finds its door. The directory holds nothing else.
const DoorSocket = "/run/torno/door/sock"

// Door states how a run may use the operator's model gateway, which is its only way out. It comes from the profile,
// never from a request. Launchers do not read it: before the sandbox is made, the watcher has the gateway open a door
// and adds the door's socket to the Sockets.
type Door struct {
	Routes []Route `json:"routes"`
	Port   uint16  `json:"port"` // of 127.0.0.1 in the sandbox
	// The amounts that may be spent. Each is shared by everything in its scope. An absent Allowance sets no limit.
	Run       Allowance `json:"run,omitzero"`
	Subagent  Allowance `json:"subagent,omitzero"`   // all runs of the run's subagent
	Tree      Allowance `json:"tree,omitzero"`       // all runs of the outbox
	OutboxDay Allowance `json:"outbox_day,omitzero"` // all runs of the outbox, on one day
	// CountSubagent: the gateway counts the spending of each subagent, because a profile bounds it (this one or
	// another).
	CountSubagent bool `json:"count_subagent,omitempty"`
	// Record: the gateway writes the conversation to a file of its own.
	Record bool `json:"record,omitempty"`
}

// Route names one of the gateway's routes; a door leads to it. At most one route of a door may have no Prefix.
type Route struct {
	Name   string `json:"name"`
	Prefix string `json:"prefix,omitempty"` // the beginning of a path, such as "/npm"; it is taken off
}

// Allowance bounds spending. A nil limit sets no bound; a limit of 0 allows nothing.
type Allowance struct {
	InputTokens  *int64 `json:"input_tokens,omitempty"`
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	Requests     *int64 `json:"requests,omitempty"`
	Money        *int64 `json:"money_nano,omitempty"` // in thousand-millionths of the unit of the prices
	Parallel     *int64 `json:"parallel,omitempty"`   // requests at a time
	KeepForLast  int    `json:"keep_for_last,omitempty"`
}

// File is a file that belongs to the host. The child finds it, read-only, under its Name below RunDir.
type File struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// RunDir is the directory where a child finds the read-only files that belong to the host.
const RunDir = "/run/torno/run"

// Home is the child's home directory: a private file system that goes away with the sandbox.
const Home = "/home/agent"

// Answer tells how the child's answer reaches its parent: through a file in the workspace.
type Answer struct {
	Path       string `json:"path"`                  // absolute in the child, inside the workspace; "" for none
	FromStdout bool   `json:"from_stdout,omitempty"` // init writes the agent's standard output there, unless the agent wrote it
	Max        int64  `json:"max,omitempty"`         // most bytes that init writes there; longer output is whole in a file beside it
}

// Limits bounds a sandbox. No limit is optional: a launcher that cannot enforce one says so in its Guarantees.
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
	// Bounds for the whole workspace, including everything that was in it before. The watcher checks them while the
	// child runs; launchers have nothing to do with them.
	Workspace      int64 `json:"workspace"`       // allocated bytes
	WorkspaceFiles int64 `json:"workspace_files"` // names in it, at every depth
}
