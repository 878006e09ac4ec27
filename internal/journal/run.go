package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/boot"
	"torno/sandbox"
)

// maxIDText bounds how much is kept of a text that should have been an id. A file's name has at most 255 bytes.
const maxIDText = 255

// Run is one row: one attempt of one request, or one entry of an outbox that was refused because it has no valid ids.
type Run struct {
	Seq int64  // the order of beginning; set by the journal
	Key string // RunKey().Hash(), or EntryKey for an entry without valid ids

	Outbox   string                // the outbox's id, not its name
	Subagent delegation.SubagentID // zero if its text is not a valid id; likewise Request
	Request  delegation.RequestID
	Attempt  int // from 1; 0 for an entry without valid ids
	// SubagentText and RequestText are the texts for the response to quote if the ids are not valid. The first 255
	// bytes are kept.
	SubagentText, RequestText string
	FileName                  string
	Stamp                     delegation.Stamp // Ino, ModTime, ChangeTime and Size are kept
	Content                   string           // as in delegation.Reading; so is Firm
	Firm                      bool
	Descent                   Descent

	State             delegation.State
	Reason            delegation.Reason // "" until ended
	Code              delegation.Code
	Field, Hint, Text string // the rest of the Refusal
	ExitCode          *int   // nil: the host saw none
	StdoutTail        string
	StderrTail        string
	Warnings          []string
	Profile, Launcher string
	SpecDigest        string
	Workspace         string               // as the parent sees it
	Sandbox           sandbox.SandboxID    // the sandbox that is bound to the run, or was last
	Handle            *sandbox.Handle      // nil until the run is released
	Attestation       *sandbox.Attestation // the host's look at the sandbox before the release; nil without one
	Terms             *sandbox.Spec        // the run was released with these, see Spec.Terms; nil before
	Ending            *Ending              // why the run is or was being ended; nil until that is noted
	Created           time.Time            // when it was queued or refused; if Begin is given none, the present time
	Starting          time.Time            // when its turn came; set by the journal, like Made and AnsweredAt
	Made              time.Time            // when it got a sandbox
	Released          time.Time            // when its agent was allowed to run
	ReleasedIn        boot.Moment          // the same moment by the boot's clock, which nobody can set
	Started, Ended    time.Time
	Timings           *delegation.Timings
	Usage             *delegation.Usage
	Session           string // a later run of the subagent can continue this session
	Artifacts         []delegation.Artifact
	Answered          bool // the response was published, or is not owed
	AnsweredAt        time.Time
}

// RunKey names the run to a launcher. It is meaningless for an entry without valid ids.
func (r Run) RunKey() sandbox.RunKey {
	return sandbox.RunKey{Outbox: r.Outbox, Subagent: r.Subagent, Request: r.Request, Attempt: r.Attempt}
}

// Reading returns the recorded reading of the request's file.
func (r Run) Reading() delegation.Reading {
	return delegation.Reading{Stamp: r.Stamp, Content: r.Content, Firm: r.Firm}
}

// Refusal returns the typed error of the run's response, or nil if it has none.
func (r Run) Refusal() *delegation.Refusal {
	if r.Code == "" {
		return nil
	}
	return &delegation.Refusal{Code: r.Code, Field: r.Field, Text: r.Text, Hint: r.Hint}
}

// EntryKey returns the key of an entry whose content gives no valid ids, or ids that differ from its file's name: a
// link, a FIFO, nonsense. The same unchanged entry has the same key. It never equals a RunKey's hash.
func EntryKey(outbox, fileName string, stamp delegation.Stamp, content string) string {
	h := sha256.New()
	fmt.Fprintf(h, "entry,%d:%s,%d:%s,%d,%d,%d,%d,%d:%s", len(outbox), outbox, len(fileName), fileName,
		stamp.Ino, stamp.ModTime.UnixNano(), stamp.ChangeTime.UnixNano(), stamp.Size, len(content), content)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// wantKey returns the only key that the run may have.
func (r Run) wantKey() string {
	if r.Attempt > 0 && !r.Subagent.IsZero() && !r.Request.IsZero() {
		return r.RunKey().Hash()
	}
	return EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content)
}
