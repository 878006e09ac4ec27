package delegation

// Refusal says why a request is turned down: a code for programs, the field that is to blame, one sentence for people,
// and the next step. Text is API if an upstream system fixed it.
type Refusal struct {
	Code  Code   `json:"code"`
	Field string `json:"field,omitempty"`
	Text  string `json:"-"` // travels as stderr_tail
	Hint  string `json:"hint,omitempty"`
}

func (r *Refusal) Error() string { return r.Text }

// Code says why a request was refused or could not be launched. Codes are API: new ones may be added, but none is ever
// renamed.
type Code string

// The codes of refusals.
const (
	CodeNotAFile       Code = "not_a_file"      // a link, FIFO, socket, device, directory or hard link
	CodeTooBig         Code = "too_big"         // the request file is over its size limit
	CodeUnparsable     Code = "unparsable"      // not JSON, or JSON without the form of a request
	CodeInvalid        Code = "invalid"         // a field has a value that is not allowed
	CodeBadID          Code = "bad_id"          // an id is not valid
	CodeIDMismatch     Code = "id_mismatch"     // file name and body disagree
	CodeWorkspace      Code = "workspace"       // outside the roots, missing, a link, or not a directory
	CodeAnswerFile     Code = "answer_file"     // outside the workspace
	CodeContext        Code = "context"         // outside the readable roots, missing or a link
	CodeProfile        Code = "profile"         // not on offer here
	CodeTaskTooLong    Code = "task_too_long"   // the command takes the task as one argument, and it does not fit
	CodeNotEnforced    Code = "not_enforced"    // the profile demands a guarantee that the launcher cannot give
	CodeWorkspaceBusy  Code = "workspace_busy"  // an equal or nested workspace is in use
	CodeQueueFull      Code = "queue_full"      // the bounded queue has no place
	CodeParent         Code = "parent"          // its parent_id names itself, or a subagent whose newest run has ended
	CodeTreeLimit      Code = "tree_limit"      // its parent has too many children, or it would stand too deep
	CodeStale          Code = "stale"           // too old to tell whether it already ran
	CodeJournalLost    Code = "journal_lost"    // it lay there when the journal was made anew, so it may have run
	CodeIdentity       Code = "identity"        // the workspace's owner may not own a sandbox
	CodeShuttingDown   Code = "shutting_down"   // the watcher is about to stop
	CodeDiskFull       Code = "disk_full"       // the file system of the workspace has too little space left
	CodeLaunch         Code = "launch"          // the launcher failed
	CodeMountProof     Code = "mount_proof"     // init saw another directory than the pinned one
	CodeWorkspaceLimit Code = "workspace_limit" // the workspace holds more than it may
	CodeSession        Code = "session"         // the session to continue is not kept, or belongs to another agent
	CodeAttestation    Code = "attestation"     // the host saw that the sandbox differs from the request, or could not look
	CodeLost           Code = "lost"            // nobody knows how the run ended; the sentence says why
	CodeInternal       Code = "internal"        // a fault of ours

	// The codes of refused input.
	CodeInputNotTaken Code = "input_not_taken"  // the run's program takes no input
	CodeInputLate     Code = "input_late"       // the agent had already ended its last turn
	CodeDecision      Code = "decision_refused" // the decision did not settle a question
	CodeInputLimit    Code = "input_limit"      // there was too much input
)
