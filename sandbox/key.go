package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"torno/delegation"
)

// RunKey names one run: one attempt of one request of one subagent of one outbox. A key is launched at most once, ever.
type RunKey struct {
	Outbox   string                `json:"outbox"` // the outbox's id in the journal, which outlasts its name
	Subagent delegation.SubagentID `json:"subagent_id"`
	Request  delegation.RequestID  `json:"request_id"`
	Attempt  int                   `json:"attempt"` // from 1
}

// Hash returns 32 hexadecimal digits that stand for the key in names and labels.
func (k RunKey) Hash() string {
	h := sha256.New()
	for _, part := range []string{k.Outbox, k.Subagent.String(), k.Request.String()} {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	fmt.Fprintf(h, "%d", k.Attempt)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (k RunKey) String() string {
	return fmt.Sprintf("%s/%s/%s#%d", k.Outbox, k.Subagent, k.Request.Hash(), k.Attempt)
}
