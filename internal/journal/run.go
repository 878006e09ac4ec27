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

// maxIDText bounds what is kept of a text that should have been an id. A file's name has at most 255 bytes.
const maxIDText = 255

// Run is one row: one attempt of one request, or one entry of an outbox that was refused without having valid ids.
type Run struct {
	Seq int64  // the order in which runs began; set by the journal
	Key string // RunKey().Hash(), or EntryKey for an entry without valid ids

	Outbox   string                // the outbox's id, not its name
	Subagent delegation.SubagentID // zero where the text is no id; and so on
	Request  delegation.RequestID
	Attempt  int // from 1; 0 for an entry without valid ids
	// SubagentText and RequestText are what the response must quote where the ids are not valid. The first 255 bytes are kept.
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
	Workspace         string               // the parent's view
	Sandbox           sandbox.SandboxID    // the sandbox that is, or was last, bound to the run
	Handle            *sandbox.Handle      // nil until it is released
	Attestation       *sandbox.Attestation // what the host saw of it before; nil where it did not look
	Terms             *sandbox.Spec        // the run was released with these, see Spec.Terms; nil before
	Ending            *Ending              // why it is, or was, being ended; nil before that is noted
	Created           time.Time            // when it was queued or refused; now, where Begin is given none
	Starting          time.Time            // when its turn came; set by the journal, as are Made and AnsweredAt
	Made              time.Time            // when it had a sandbox
	Released          time.Time            // when its agent was allowed to run
	ReleasedIn        boot.Moment          // the same, as no clock can change it
	Started, Ended    time.Time
	Timings           *delegation.Timings
	Usage             *delegation.Usage
	Session           string // with which a later run of the subagent goes on
	Artifacts         []delegation.Artifact
	Answered          bool // the response was published, or is not owed
	AnsweredAt        time.Time
}

// RunKey names the run to a launcher. It is meaningless for an entry without valid ids.
func (r Run) RunKey() sandbox.RunKey {
	return sandbox.RunKey{Outbox: r.Outbox, Subagent: r.Subagent, Request: r.Request, Attempt: r.Attempt}
}

// Reading is what was read of the request's file.
func (r Run) Reading() delegation.Reading {
	return delegation.Reading{Stamp: r.Stamp, Content: r.Content, Firm: r.Firm}
}

// Refusal is the typed error of the run's response, nil for a run without one.
func (r Run) Refusal() *delegation.Refusal {
	if r.Code == "" {
		return nil
	}
	return &delegation.Refusal{Code: r.Code, Field: r.Field, Text: r.Text, Hint: r.Hint}
}

// EntryKey stands for an entry of an outbox whose content gives no valid ids, or not those of its file name: a link, a
// FIFO, nonsense. The same entry unchanged has the same key. It is never equal to a RunKey's hash.
func EntryKey(outbox, fileName string, stamp delegation.Stamp, content string) string {
	h := sha256.New()
	fmt.Fprintf(h, "entry,%d:%s,%d:%s,%d,%d,%d,%d,%d:%s", len(outbox), outbox, len(fileName), fileName,
		stamp.Ino, stamp.ModTime.UnixNano(), stamp.ChangeTime.UnixNano(), stamp.Size, len(content), content)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// wantKey is the only key that the run may have.
func (r Run) wantKey() string {
	if r.Attempt > 0 && !r.Subagent.IsZero() && !r.Request.IsZero() {
		return r.RunKey().Hash()
	}
	return EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content)
}
