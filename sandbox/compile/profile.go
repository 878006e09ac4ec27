package compile

import (
	"path"
	"time"

	"torno/internal/approval"
	"torno/sandbox"
)

// Profile is the operator's named recipe for a sandbox. Requests choose among profiles; they change nothing in one.
type Profile struct {
	Name        string
	Description string // for people who choose a profile
	Sandbox     string // the launcher's name
	Chosen      string // why it is this launcher, for parents too; "" where the operator chose it
	RootFS      sandbox.RootFS
	// Agent is the program that thinks, of those that package agent knows; "" is the command alone.
	Agent string
	// Model is the agent's; "" is the request's, or the agent's own choice. ModelRoute is one of Door's routes, where the profile names it with
	// the model.
	Model, ModelRoute string
	Workspace         WorkspaceMode // "" is direct
	Artifacts         []string      // patterns of files that an answer tells of
	Programs          []Programs    // in the order in which a child looks for a command
	// Command is the argument list, with placeholders (see Placeholders). An empty one runs the task's text with the
	// shell. With an Agent it is the agent's program and arguments of the operator's, to which its adapter adds what it needs.
	Command   []string
	Answer    AnswerMode
	AnswerMax int64 // bytes of standard output that become the answer, the whole being beside it; 0 is DefaultAnswerMax
	// Env are literals that are added to the child's environment, and win over what is there.
	Env     map[string]string
	Limits  sandbox.Limits
	Sockets []sandbox.Socket
	Door    *sandbox.Door // to the gateway's routes; nil for none
	AtLeast []sandbox.GuaranteeKey
	Timeout Timeouts
	// Attempts is how often a run may be tried in all when its sandbox is lost; 0 and 1 are once.
	Attempts int
	Umask    int
	Stdin    bool // keep the agent's standard input open
	// Messages has an agent that can be told to take what its parent says while it works.
	Messages bool
	// Approvals says what becomes of the agent's questions whether it may call a tool. With nil it asks none.
	Approvals *approval.Policy
}

// DefaultAnswerMax is how many bytes of standard output become an answer.
const DefaultAnswerMax = 1 << 20

// Timeouts bound what a request may ask for. A request outside of them is brought to the nearest bound, with a warning.
type Timeouts struct {
	Default time.Duration // for a request that says nothing
	Min     time.Duration
	Max     time.Duration // 0 is no bound
}

// WorkspaceMode says in which directory a child works.
type WorkspaceMode string

// The modes.
const (
	WorkspaceDirect WorkspaceMode = "direct" // in the one that its request names
	WorkspaceCopy   WorkspaceMode = "copy"   // in a copy of it, which the watcher makes when the subagent first runs
)

// AnswerMode says how a child answers. The zero value is stdout where the task's text is a shell's script, file otherwise.
type AnswerMode string

// The modes.
const (
	AnswerFile   AnswerMode = "file"   // the agent writes it
	AnswerStdout AnswerMode = "stdout" // it is the agent's standard output, which init writes into the file, unless the agent wrote one
	AnswerNone   AnswerMode = "none"   // there is none
)

// AnswerModes are all modes, in the order in which they are shown.
var AnswerModes = []AnswerMode{AnswerFile, AnswerStdout, AnswerNone}

// AnswerMode is Answer with the default applied.
func (p Profile) AnswerMode() AnswerMode {
	switch {
	case p.Answer != "":
		return p.Answer
	case p.Agent != "":
		return AnswerFile // its adapter writes it
	case len(p.Command) == 0 || isShell(p.Command):
		return AnswerStdout
	default:
		return AnswerFile
	}
}

// isShell says whether the command hands a script to a shell, whose standard output is then the natural answer.
func isShell(command []string) bool {
	if len(command) < 2 || command[1] != "-c" {
		return false
	}
	switch path.Base(command[0]) {
	case "sh", "bash", "dash", "ash", "zsh":
		return true
	}
	return false
}
