package massgen

import (
	"encoding/json"
	"fmt"
)

// Failure is the answer of a tool that has done nothing. Encoded as JSON it is the body that MassGen sends.
type Failure struct {
	Operation  Operation // "" if MassGen names none
	SubagentID string    // only if MassGen puts it into the body
	Text       string
}

// Operation names the tool that an answer comes from.
type Operation string

// These are the operations. The operation of a message differs from the name of its tool, because MassGen writes it so.
const (
	OpSpawn    Operation = "spawn_subagents"
	OpList     Operation = "list_subagents"
	OpContinue Operation = "continue_subagent"
	OpSend     Operation = "send_message"
	OpCancel   Operation = "cancel_subagent"
)

func (f *Failure) Error() string { return f.Text }

// MarshalJSON writes the tool's answer.
func (f *Failure) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Success    bool      `json:"success"`
		SubagentID string    `json:"subagent_id,omitempty"`
		Operation  Operation `json:"operation,omitempty"`
		Error      string    `json:"error"`
	}{false, f.SubagentID, f.Operation, f.Text})
}

// fail returns a failure of the operation.
func (op Operation) fail(format string, args ...any) *Failure {
	return &Failure{Operation: op, Text: fmt.Sprintf(format, args...)}
}
