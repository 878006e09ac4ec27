package delegation

import (
	"time"

	"torno/internal/agent"
)

// Version is the wire's version.
const Version = 1

// Request is one request_<id>.json, decoded and valid: every id and token has been parsed. A request can choose nothing
// beyond these fields; YAMLConfig and Task are data for the agent.
type Request struct {
	SubagentID     SubagentID
	RequestID      RequestID
	Task           string
	YAMLConfig     map[string]any
	AnswerFile     string // as the parent sees it, absolute or below Workspace; "" for none
	Workspace      string // as the parent sees it, absolute or below the outbox
	TimeoutSeconds int
	CreatedAt      time.Time // zero if it was not given

	// Our additions to version 1; all optional.
	Profile      Token
	Model        Token
	SessionID    Token
	ParentID     Token
	ContextPaths []string // as the parent sees them
	// WorkspaceMade means that the client made the workspace for this request, below workspaces in the outbox. The host
	// may remove it when nothing needs it any more.
	WorkspaceMade bool
}

// Response is one response_<id>.json. The first block is version 1 of MassGen; the rest is ours and optional.
type Response struct {
	Version     int       `json:"version"`
	SubagentID  string    `json:"subagent_id"` // as in the file's name, even if that is no valid id
	RequestID   string    `json:"request_id"`
	Status      Status    `json:"status"`
	ExitCode    int       `json:"exit_code"`
	StdoutTail  string    `json:"stdout_tail"`
	StderrTail  string    `json:"stderr_tail"`
	CompletedAt time.Time `json:"completed_at"`

	Reason    Reason    `json:"reason,omitempty"`
	Error     *Refusal  `json:"error,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	Timings   *Timings  `json:"timings_ms,omitempty"`
	Usage     *Usage    `json:"usage,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
	Launcher  string    `json:"launcher,omitempty"`
	Attested  *bool     `json:"attested,omitempty"` // whether the host checked the sandbox before the agent ran; nil if no agent ran
	Profile   string    `json:"profile,omitempty"`
	SessionID string    `json:"session_id,omitempty"` // the session that another request can continue; absent if no session is kept
	// Artifacts are the files that the run made or changed, among those that the profile looks for.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a file that a run made or changed. Path, below the workspace, is the child's word; the host saw the rest
// itself. Another file may lie there later.
type Artifact struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // absent if there is too much to read
	Type   string `json:"type"`             // by the end of its name
}

// SessionLast, given in a request, means whichever session is kept for its subagent.
const SessionLast = "last"

// Timings are the milliseconds of a run's phases. Each phase begins at the end of the one before.
type Timings struct {
	Admit  float64 `json:"admit"`  // read, parse, policy, journal
	Queue  float64 `json:"queue"`  // waiting for a place
	Create float64 `json:"create"` // pin, mount, create
	Start  float64 `json:"start"`  // until init's started line
	Run    float64 `json:"run"`    // the agent
	Total  float64 `json:"total"`
}

// Usage holds the resources that a run used, if the launcher can tell.
type Usage struct {
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
	CPUSeconds      float64 `json:"cpu_seconds,omitempty"`
	OutputBytes     int64   `json:"output_bytes,omitempty"`
	// WorkspaceBytes is the size of the workspace's content at the end of the run; absent if the host did not look at
	// all of it.
	WorkspaceBytes int64 `json:"workspace_bytes,omitempty"`
	// Model is the use of models through the model gateway; absent if the profile has no route.
	Model *ModelUsage `json:"model,omitempty"`
}

// ModelUsage counts what a run used through the model gateway, over all of its attempts.
type ModelUsage struct {
	Requests     int64  `json:"requests"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	Money        string `json:"money,omitempty"` // such as "0.25", in the operator's currency; absent without prices
}

// RunStatus is one status_<id>.json: the state of a subagent's newest run.
type RunStatus struct {
	Version    int    `json:"version"`
	SubagentID string `json:"subagent_id"`
	RequestID  string `json:"request_id"`
	State      State  `json:"state"`
	Position   int    `json:"position,omitempty"` // in the queue, from 1
	Reason     Reason `json:"reason,omitempty"`   // only when ended
	Attempt    int    `json:"attempt,omitempty"`
	Detail     string `json:"detail,omitempty"` // one sentence for people, if the state alone does not say enough
	// ParentID is the subagent whose run is the parent: when that run ends, this one ends too. It is "" if there is no
	// parent. Depth is the run's depth in the tree: 2 for a child of a run that has no parent itself; 0 if there is no
	// parent.
	ParentID     string    `json:"parent_id,omitempty"`
	Depth        int       `json:"depth,omitempty"`
	RunningSince time.Time `json:"running_since,omitzero"`
	Deadline     time.Time `json:"deadline,omitzero"`
	UpdatedAt    time.Time `json:"updated_at"`
	// Input reports on the parent's input to the agent; nil before there was any.
	Input *InputStatus `json:"input,omitempty"`
	// Approvals are the agent's questions that wait for a decision.
	Approvals []PendingApproval `json:"approvals,omitempty"`
}

// Heartbeat is watcher.json. It says which watcher serves this outbox and what that watcher can do, and it shows that
// the watcher is alive.
type Heartbeat struct {
	Version          int            `json:"version"`
	Protocol         int            `json:"protocol"`
	Watcher          string         `json:"watcher"`                // the watcher's version
	Outbox           string         `json:"outbox"`                 // the outbox's name
	OutboxID         string         `json:"outbox_id,omitempty"`    // identifies the outbox under any name
	Installation     string         `json:"installation,omitempty"` // the installation whose journal has the outbox's runs
	StartedAt        time.Time      `json:"started_at"`
	BeatAt           time.Time      `json:"beat_at"`
	HeartbeatSeconds int            `json:"heartbeat_seconds"`  // after three of them without a beat clients call it dead
	Stopping         bool           `json:"stopping,omitempty"` // the watcher takes no more requests
	Stopped          bool           `json:"stopped,omitempty"`  // this is the watcher's last word
	Features         []string       `json:"features"`
	Limits           WireLimits     `json:"limits"`
	Profiles         []ProfileOffer `json:"profiles"`
	Workspaces       []string       `json:"workspaces,omitempty"` // where workspaces may lie, for the parent; relative ones: in the outbox
	Context          []string       `json:"context,omitempty"`    // further places where context may lie
	Running          int            `json:"running"`
	Queued           int            `json:"queued"`
	Notices          Notices        `json:"notices,omitempty"` // what keeps the watcher from its work at the moment
}

// The features in watcher.json.
const (
	FeatureStatus   = "status"
	FeatureEvents   = "events"
	FeatureProfiles = "profiles"
	FeatureContext  = "context_paths"
	FeatureCancel   = "cancel_request"
	FeatureInput    = "input"
	FeatureTree     = "tree"
	FeatureSessions = "sessions"
	// FeatureApprovals: the agents of some profiles may ask before they use a tool, and the watcher takes decisions as
	// input.
	FeatureApprovals = "approvals"
	// FeatureSettings: a request may have agent.Settings in its yaml_config.
	FeatureSettings = "agent_settings"
)

// WireLimits are limits that a client should know before it asks.
type WireLimits struct {
	RequestBytes      int64 `json:"request_bytes"`
	Queue             int   `json:"queue"`
	Running           int   `json:"running"`
	MaxTimeoutSeconds int   `json:"max_timeout_seconds"`
	Children          int   `json:"children,omitempty"` // of one run, at a time
	Depth             int   `json:"depth,omitempty"`    // of the tree; at 1 no run may have children
}

// ProfileOffer is a profile that requests of this outbox may name; the first one is the default.
type ProfileOffer struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Launcher    string `json:"launcher,omitempty"`
	Agent       string `json:"agent,omitempty"`     // the program that thinks; "" if a command does the task
	Model       string `json:"model,omitempty"`     // the agent's model, if the profile names one
	Input       bool   `json:"input,omitempty"`     // its agent takes messages while it works
	Approvals   bool   `json:"approvals,omitempty"` // its agent asks before it uses a tool
	Workspace   string `json:"workspace,omitempty"` // WorkspaceCopy if each child works in a copy of its workspace
	Chosen      string `json:"chosen,omitempty"`    // why the host chose this launcher, if the host chose

	TimeoutSeconds    int `json:"timeout_seconds,omitempty"`     // the time of a run if the client does not care
	MaxTimeoutSeconds int `json:"max_timeout_seconds,omitempty"` // the most that a request gets
}

// Event is one line of an events segment.
type Event struct {
	Seq    int64     `json:"seq"` // from 1, no gaps except where Type is "gap"
	Time   time.Time `json:"time"`
	Type   EventType `json:"type"`
	Text   string    `json:"text,omitempty"`   // output as UTF-8, or words of the model or a tool
	Base64 []byte    `json:"base64,omitempty"` // output that is not UTF-8
	State  State     `json:"state,omitempty"`
	Reason Reason    `json:"reason,omitempty"`

	// Only in the agent's events, which its adapter in the sandbox reports. All of it is the child's word.
	More   bool    `json:"more,omitempty"`               // the next event of this type continues the text
	Parent string  `json:"parent_tool_use_id,omitempty"` // the tool call for which a subagent inside the agent did this
	Tool   *Tool   `json:"tool,omitempty"`               // of a call and its result
	Tokens *Tokens `json:"tokens,omitempty"`             // of usage
	Failed bool    `json:"failed,omitempty"`             // of a tool's result, and of a turn's result

	Approval *ApprovalEvent `json:"approval,omitempty"` // of a question, and of its decision

	Missing *Missing `json:"missing,omitempty"` // of a gap that a reader is told about; a gap in a file has none
}

// Missing are the first and the last number of a row of missing events.
type Missing struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Tool is a call of a tool by an agent.
type Tool = agent.Tool

// Tokens are the tokens that a turn used, as the agent reports them.
type Tokens = agent.Tokens

// EventType tells the lines of a segment apart.
type EventType string

// The types of events of every run.
const (
	EventState  EventType = "state"
	EventStdout EventType = "stdout"
	EventStderr EventType = "stderr"
	EventGap    EventType = "gap" // output was lost or is over the limit
	// The parent said something, and the agent has it. Only the host reports these; no child can.
	EventMessage   EventType = "message"
	EventInterrupt EventType = "interrupt"
	// An agent asks whether it may call a tool, and the decision about that. Only the host reports these; no child can.
	EventAsked   EventType = "permission_asked"
	EventDecided EventType = "permission_decided"
)

// The event types of a run whose profile names an agent. These events stand in the place of the agent's standard
// output.
const (
	EventText       = EventType(agent.Text)       // the model said it
	EventThinking   = EventType(agent.Thinking)   // the model thought it
	EventToolCall   = EventType(agent.ToolCall)   // the model calls a tool
	EventToolResult = EventType(agent.ToolResult) // the result of the tool
	EventUsage      = EventType(agent.Usage)      // tokens of a turn
	EventResult     = EventType(agent.Result)     // a turn is over
	EventNotice     = EventType(agent.Notice)     // the agent says something about itself
	EventRaw        = EventType(agent.Raw)        // the agent printed a line that is not understood
)
