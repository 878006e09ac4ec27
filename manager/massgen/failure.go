package massgen

import (
	"encoding/json"
	"fmt"
)

// Failure is what a tool answers where it has done nothing. Encoded as JSON it is the body that MassGen gives.
type Failure struct {
	Operation  Operation // "" where MassGen names none
	SubagentID string    // only where MassGen says it in the body
	Text       string
}

// Operation is how an answer names the tool that it is from.
type Operation string

// The operations. A message's is not its tool's name: this is how MassGen writes it.
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

// fail phrases a failure of an operation.
func (op Operation) fail(format string, args ...any) *Failure {
	return &Failure{Operation: op, Text: fmt.Sprintf(format, args...)}
}
