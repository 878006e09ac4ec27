package agent

import (
	"encoding/json"
	"slices"

	"torno/internal/strictjson"
)

// Decision answers an agent's question. The host sends it to the adapter. The adapter holds the call under the
// question's name. It computes the digest of that call again, and acts only if both digests agree. Package approval
// defines the digest.
type Decision struct {
	Ask    string `json:"ask"`
	Allow  bool   `json:"allow,omitempty"`
	Digest string `json:"digest"`
	Policy string `json:"policy"`
	Run    string `json:"run"`
	Why    string `json:"why,omitempty"` // for the agent, if the call is denied
}

// EncodeDecision writes a decision as a line for the adapter. The line also starts with a newline: if the line before
// it was torn, that line does not spoil this one.
func EncodeDecision(d Decision) ([]byte, error) {
	text, err := json.Marshal(decisionLine{"decision", d})
	return slices.Concat([]byte{'\n'}, text, []byte{'\n'}), err
}

// askAgain is the line that asks the adapter to repeat all open questions: the host may have lost some.
const askAgain = `{"type":"ask_again"}`

// EncodeAskAgain returns askAgain with a newline before and after it, as EncodeDecision does.
func EncodeAskAgain() []byte { return []byte("\n" + askAgain + "\n") }

// IsAskAgain reports whether a line, without its newline, is askAgain.
func IsAskAgain(text []byte) bool { return string(text) == askAgain }

type decisionLine struct {
	Type string `json:"type"`
	Decision
}

// DecodeDecision reads a line without its newline. ok is false if the line is no decision.
func DecodeDecision(text []byte) (Decision, bool) {
	var l decisionLine
	if strictjson.Decode(text, &l) != nil || l.Type != "decision" || l.Ask == "" {
		return Decision{}, false
	}
	return l.Decision, true
}
