package delegation

import (
	"time"

	"torno/internal/agent"
)

// Version is the wire's version.
const Version = 1

// Request is one request_<id>.json, decoded and valid: every id and token was parsed. What a request may choose ends
// with these fields; YAMLConfig and Task are data for the agent.
type Request struct {
	SubagentID     SubagentID
	RequestID      RequestID
	Task           string
	YAMLConfig     map[string]any
	AnswerFile     string // the parent's view, absolute or beneath Workspace; "" for none
	Workspace      string // the parent's view, absolute or beneath the outbox
	TimeoutSeconds int
	CreatedAt      time.Time // zero when it was not given

	// Fields that version 1 of others does not have; all optional.
	Profile      Token
	Model        Token
	SessionID    Token
	ParentID     Token
	ContextPaths []string // the parent's view
	// WorkspaceMade says that the client made the workspace for this request, below workspaces in the outbox: the host may remove it
	// when nothing needs it any more.
	WorkspaceMade bool
}

// Response is one response_<id>.json. The first block is version 1 of MassGen; the rest is ours and optional.
type Response struct {
	Version     int       `json:"version"`
	SubagentID  string    `json:"subagent_id"` // as in the file's name, also where that is no id
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
	Attested  *bool     `json:"attested,omitempty"` // the host looked at the sandbox before the agent ran; nil where none ran
	Profile   string    `json:"profile,omitempty"`
	SessionID string    `json:"session_id,omitempty"` // with which another request goes on; absent where no session is kept
	// Artifacts are the files that the profile looks for, and the run has made or changed.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a file that a run has made or changed. Path, below the workspace, is the child's word; the rest the host has seen. What lies
// there later may be another file.
type Artifact struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // absent where there is too much to read
	Type   string `json:"type"`             // by the end of its name
}

// SessionLast in a request is the session that is kept of its subagent, whichever that is.
const SessionLast = "last"

// Timings are milliseconds of a run's phases, each from the end of the one before.
type Timings struct {
	Admit  float64 `json:"admit"`  // read, parse, policy, journal
	Queue  float64 `json:"queue"`  // waiting for a place
	Create float64 `json:"create"` // pin, mount, create
	Start  float64 `json:"start"`  // until init's started line
	Run    float64 `json:"run"`    // the agent
	Total  float64 `json:"total"`
}

// Usage is the resources that a run used, where the launcher can tell.
type Usage struct {
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
	CPUSeconds      float64 `json:"cpu_seconds,omitempty"`
	OutputBytes     int64   `json:"output_bytes,omitempty"`
	// WorkspaceBytes is what the workspace held when the run was over; absent where not all of it was looked at.
	WorkspaceBytes int64 `json:"workspace_bytes,omitempty"`
	// Model is what was spent through the model gateway; absent where the profile has no route.
	Model *ModelUsage `json:"model,omitempty"`
}

// ModelUsage is what a run has spent through the model gateway, over all of its attempts.
type ModelUsage struct {
	Requests     int64  `json:"requests"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	Money        string `json:"money,omitempty"` // such as "0.25", in the currency of the operator's prices; absent without any
}

// RunStatus is one status_<id>.json: where the newest run of a subagent stands.
type RunStatus struct {
	Version    int    `json:"version"`
	SubagentID string `json:"subagent_id"`
	RequestID  string `json:"request_id"`
	State      State  `json:"state"`
	Position   int    `json:"position,omitempty"` // in the queue, from 1
	Reason     Reason `json:"reason,omitempty"`   // when ended
	Attempt    int    `json:"attempt,omitempty"`
	Detail     string `json:"detail,omitempty"` // one sentence for people, where the state does not say it all
	// ParentID is the subagent whose run this one ends with; "" where no run is its parent. Depth is how deep it stands below it:
	// 2 for a child of a run that has no parent. 0 where there is none.
	ParentID     string    `json:"parent_id,omitempty"`
	Depth        int       `json:"depth,omitempty"`
	RunningSince time.Time `json:"running_since,omitzero"`
	Deadline     time.Time `json:"deadline,omitzero"`
	UpdatedAt    time.Time `json:"updated_at"`
	// Input is what became of what the parent has said to the agent; nil before there was any.
	Input *InputStatus `json:"input,omitempty"`
	// Approvals are the agent's questions that wait for a decision.
	Approvals []PendingApproval `json:"approvals,omitempty"`
}

// Heartbeat is watcher.json: which watcher serves this outbox, what it can do, and that it is alive.
type Heartbeat struct {
	Version          int            `json:"version"`
	Protocol         int            `json:"protocol"`
	Watcher          string         `json:"watcher"`                // its version
	Outbox           string         `json:"outbox"`                 // the outbox's name
	OutboxID         string         `json:"outbox_id,omitempty"`    // what it is under any name
	Installation     string         `json:"installation,omitempty"` // whose journal has it
	StartedAt        time.Time      `json:"started_at"`
	BeatAt           time.Time      `json:"beat_at"`
	HeartbeatSeconds int            `json:"heartbeat_seconds"`  // a client calls it dead after three of them
	Stopping         bool           `json:"stopping,omitempty"` // it takes no more requests
	Stopped          bool           `json:"stopped,omitempty"`  // and this is its last word
	Features         []string       `json:"features"`
	Limits           WireLimits     `json:"limits"`
	Profiles         []ProfileOffer `json:"profiles"`
	Workspaces       []string       `json:"workspaces,omitempty"` // where workspaces may lie, as the parent sees it; relative ones lie in the outbox
	Context          []string       `json:"context,omitempty"`    // where context may lie besides
	Running          int            `json:"running"`
	Queued           int            `json:"queued"`
	Notices          Notices        `json:"notices,omitempty"` // what keeps it from its work, while something does
}

// The features of watcher.json.
const (
	FeatureStatus   = "status"
	FeatureEvents   = "events"
	FeatureProfiles = "profiles"
	FeatureContext  = "context_paths"
	FeatureCancel   = "cancel_request"
	FeatureInput    = "input"
	FeatureTree     = "tree"
	FeatureSessions = "sessions"
	// FeatureApprovals: profiles may have agents that ask, and decisions are taken as input.
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
	Depth             int   `json:"depth,omitempty"`    // of the tree: 1 has no children
}

// ProfileOffer is a profile that requests of this outbox may name; the first one is the default.
type ProfileOffer struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Launcher    string `json:"launcher,omitempty"`
	Agent       string `json:"agent,omitempty"`     // the program that thinks; "" where the task is for a command
	Model       string `json:"model,omitempty"`     // the agent's, where the profile says it
	Input       bool   `json:"input,omitempty"`     // its agent takes messages while it works
	Approvals   bool   `json:"approvals,omitempty"` // its agent asks before it uses a tool
	Workspace   string `json:"workspace,omitempty"` // WorkspaceCopy where each child works in a copy of its workspace
	Chosen      string `json:"chosen,omitempty"`    // why it is this launcher, where the host has chosen

	TimeoutSeconds    int `json:"timeout_seconds,omitempty"`     // how long a run has whose client does not care
	MaxTimeoutSeconds int `json:"max_timeout_seconds,omitempty"` // the most that a request gets
}

// Event is one line of an events segment.
type Event struct {
	Seq    int64     `json:"seq"` // from 1, no gaps except where Type is "gap"
	Time   time.Time `json:"time"`
	Type   EventType `json:"type"`
	Text   string    `json:"text,omitempty"`   // output as UTF-8; what the model or a tool said
	Base64 []byte    `json:"base64,omitempty"` // output that is not UTF-8
	State  State     `json:"state,omitempty"`
	Reason Reason    `json:"reason,omitempty"`

	// Of the agent's events, as its adapter in the sandbox tells them. All of it is the child's word.
	More   bool    `json:"more,omitempty"`               // the next event of this type goes on with the text
	Parent string  `json:"parent_tool_use_id,omitempty"` // the call of a tool within which it happened: an agent of the agent's own
	Tool   *Tool   `json:"tool,omitempty"`               // of a call and its result
	Tokens *Tokens `json:"tokens,omitempty"`             // of usage
	Failed bool    `json:"failed,omitempty"`             // of a tool's result, and of a turn's

	Approval *ApprovalEvent `json:"approval,omitempty"` // of a question, and of its decision

	Missing *Missing `json:"missing,omitempty"` // of a gap that a reader is told; a gap in a file has none
}

// Missing are the numbers of events that are not there.
type Missing struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Tool is a call of a tool by an agent.
type Tool = agent.Tool

// Tokens are what an agent says that a turn has used.
type Tokens = agent.Tokens

// EventType tells the lines of a segment apart.
type EventType string

// The types of events of every run.
const (
	EventState  EventType = "state"
	EventStdout EventType = "stdout"
	EventStderr EventType = "stderr"
	EventGap    EventType = "gap" // output was lost or is over the bound
	// What the parent has said, when the agent has it. The host tells them, and no child can.
	EventMessage   EventType = "message"
	EventInterrupt EventType = "interrupt"
	// An agent asks whether it may call a tool, and how that was decided. The host tells them, and no child can.
	EventAsked   EventType = "permission_asked"
	EventDecided EventType = "permission_decided"
)

// The types of events of a run whose profile names an agent; they stand in the place of its standard output.
const (
	EventText       = EventType(agent.Text)       // the model said it
	EventThinking   = EventType(agent.Thinking)   // the model thought it
	EventToolCall   = EventType(agent.ToolCall)   // the model calls a tool
	EventToolResult = EventType(agent.ToolResult) // what the tool gave back
	EventUsage      = EventType(agent.Usage)      // tokens, of a turn
	EventResult     = EventType(agent.Result)     // a turn is over
	EventNotice     = EventType(agent.Notice)     // the agent says something of itself
	EventRaw        = EventType(agent.Raw)        // the agent printed what is not understood
)
