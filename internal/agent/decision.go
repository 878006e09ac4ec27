package agent

import (
	"encoding/json"
	"slices"

	"torno/internal/strictjson"
)

// Decision answers an agent's question. The host sends it to the adapter. The adapter computes the digest of the call that it
// holds under the question's name once more, and acts only if both agree. Package approval says what goes into the digest.
type Decision struct {
	Ask    string `json:"ask"`
	Allow  bool   `json:"allow,omitempty"`
	Digest string `json:"digest"`
	Policy string `json:"policy"`
	Run    string `json:"run"`
	Why    string `json:"why,omitempty"` // of a denial, for the agent
}

// EncodeDecision writes a decision as a line for the adapter. It begins with a line's end too, so that a line which was torn before it
// does not spoil it.
func EncodeDecision(d Decision) ([]byte, error) {
	text, err := json.Marshal(decisionLine{"decision", d})
	return slices.Concat([]byte{'\n'}, text, []byte{'\n'}), err
}

// askAgain is the line that asks the adapter to repeat the questions that wait: the host may have lost some.
const askAgain = `{"type":"ask_again"}`

// EncodeAskAgain returns askAgain after a line's end, as EncodeDecision does.
func EncodeAskAgain() []byte { return []byte("\n" + askAgain + "\n") }

// IsAskAgain reports whether a line, without its end, is askAgain.
func IsAskAgain(text []byte) bool { return string(text) == askAgain }

type decisionLine struct {
	Type string `json:"type"`
	Decision
}

// DecodeDecision reads a line without its end. ok is false if the line is no decision.
func DecodeDecision(text []byte) (Decision, bool) {
	var l decisionLine
	if strictjson.Decode(text, &l) != nil || l.Type != "decision" || l.Ask == "" {
		return Decision{}, false
	}
	return l.Decision, true
}
