package compile

import (
	"path"
	"time"

	"torno/internal/approval"
	"torno/sandbox"
)

// Profile is the operator's named recipe for a sandbox. Requests choose among profiles; they change nothing in a
// profile.
type Profile struct {
	Name        string
	Description string // for people who choose a profile
	Sandbox     string // the launcher's name
	Chosen      string // the reason for this launcher, which parents see too; "" if the operator chose it
	RootFS      sandbox.RootFS
	// Agent is the program that thinks; package agent lists the known ones. "" means the command alone.
	Agent string
	// Model is the agent's model; "" leaves it to the request, or to the agent. ModelRoute is one of Door's routes, if
	// the profile names it together with the model.
	Model, ModelRoute string
	Workspace         WorkspaceMode // "" means direct
	Artifacts         []string      // patterns of files that an answer reports
	Programs          []Programs    // in the order of the child's search for a command
	// Command is the argument list, with placeholders (see Placeholders). An empty Command runs the task's text with
	// the shell. With an Agent it is the agent's program and the operator's arguments; the adapter adds its own.
	Command []string
	Answer  AnswerMode
	// AnswerMax is the most bytes of standard output that become the answer; the complete output lies beside it. 0
	// means DefaultAnswerMax.
	AnswerMax int64
	// Env is literal text that is added to the child's environment. It wins over the variables that are already there.
	Env     map[string]string
	Limits  sandbox.Limits
	Sockets []sandbox.Socket
	Door    *sandbox.Door // to the gateway's routes; nil for none
	AtLeast []sandbox.GuaranteeKey
	Timeout Timeouts
	// Attempts is the total number of tries that a run gets when its sandbox is lost; 0 and 1 both mean one try.
	Attempts int
	Umask    int
	Stdin    bool // keep the agent's standard input open
	// Messages makes the agent receive the parent's messages while it works. Only some agents need it: others always do
	// so, or never can.
	Messages bool
	// Approvals tells how to treat the agent's questions whether it may call a tool; if nil, the agent asks none.
	Approvals *approval.Policy
}

// DefaultAnswerMax is the most bytes of standard output that become an answer.
const DefaultAnswerMax = 1 << 20

// Timeouts bounds the timeout that a request may ask for. A timeout outside the bounds is moved to the nearest bound,
// with a warning.
type Timeouts struct {
	Default time.Duration // for a request that gives no timeout
	Min     time.Duration
	Max     time.Duration // 0 means no bound
}

// WorkspaceMode selects the directory where a child works.
type WorkspaceMode string

// The workspace modes.
const (
	WorkspaceDirect WorkspaceMode = "direct" // in the directory that the request names
	WorkspaceCopy   WorkspaceMode = "copy"   // in a copy of it; the watcher makes it when the subagent first runs
)

// AnswerMode selects how a child answers. The zero value means stdout if the task's text is a shell script, otherwise
// file.
type AnswerMode string

// The answer modes.
const (
	AnswerFile   AnswerMode = "file"   // the agent writes the answer file
	AnswerStdout AnswerMode = "stdout" // init writes the agent's standard output into the file, unless the agent wrote it
	AnswerNone   AnswerMode = "none"   // no answer
)

// AnswerModes lists all modes, in display order.
var AnswerModes = []AnswerMode{AnswerFile, AnswerStdout, AnswerNone}

// AnswerMode returns Answer, or the default if it is empty.
func (p Profile) AnswerMode() AnswerMode {
	switch {
	case p.Answer != "":
		return p.Answer
	case p.Agent != "":
		return AnswerFile // the agent's adapter writes it
	case len(p.Command) == 0 || isShell(p.Command):
		return AnswerStdout
	default:
		return AnswerFile
	}
}

// isShell reports whether the command hands a script to a shell. The shell's standard output is then the natural
// answer.
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
