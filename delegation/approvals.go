package delegation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the questions in a status.
const (
	maxPendingApprovals = 32
	maxQuestionText     = 4 << 10
)

// PendingApproval is an agent's question whether it may call a tool. Tool and Arguments are the child's words.
type PendingApproval struct {
	Approval  int       `json:"approval"`  // the question's number in the run, from 1
	Digest    string    `json:"digest"`    // covers tool, arguments, policy and run; a decision must repeat it
	Tool      string    `json:"tool"`      // the tool's name
	Arguments string    `json:"arguments"` // canonical JSON, or only its beginning if Cut
	Cut       bool      `json:"cut,omitempty"`
	AskedAt   time.Time `json:"asked_at"`
	ExpiresAt time.Time `json:"expires_at"`           // the question is denied at this time
	DecidedBy []string  `json:"decided_by,omitempty"` // who may decide: parent, operator
}

// ApprovalEvent holds the facts that an event adds about a question. The tool itself stands in Event.Tool.
type ApprovalEvent struct {
	Approval  int       `json:"approval"`
	Digest    string    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // only when the question was asked
	Outcome   string    `json:"outcome,omitempty"`   // only when it was decided: approved, denied, withdrawn
	By        string    `json:"by,omitempty"`        // who or what decided: policy, parent, operator, time, agent, change, end
}

// shortDigest is the number of digits of a digest that people see and have to type.
const shortDigest = 8

// ShortDigest returns the beginning of a digest, for people.
func ShortDigest(digest string) string { return digest[:min(shortDigest, len(digest))] }

// ApprovalName returns the name that a person types for a question: its number, which is unique in the run, and the
// beginning of its digest. A digest alone would not do, because a child can have two calls ready whose digests begin
// alike.
func ApprovalName(number int, digest string) string {
	return fmt.Sprintf("%d %s", number, ShortDigest(digest))
}

// NamesApproval reports whether words name the question in the form that ApprovalName returns.
func NamesApproval(words []string, number int, digest string) bool {
	return len(words) == 2 && words[0] == strconv.Itoa(number) && beginsDigest(words[1], digest)
}

// MeansApproval reports whether each word is the question's number or the beginning of its digest. No words mean every
// question.
func MeansApproval(words []string, number int, digest string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		return word != strconv.Itoa(number) && !beginsDigest(word, digest)
	})
}

func beginsDigest(word, digest string) bool {
	return len(word) >= shortDigest && strings.HasPrefix(digest, word)
}

// IsDigest reports whether text has the form of a question's digest: 64 lower-case hexadecimal digits.
func IsDigest(text string) bool {
	if len(text) != 64 {
		return false
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (a *ApprovalEvent) check(kind EventType) error {
	switch {
	case a == nil || a.Approval < 1 || !IsDigest(a.Digest):
		return fmt.Errorf("%s names no approval", kind)
	case (a.Outcome == "") != (kind == EventAsked) || (a.By == "") != (kind == EventAsked):
		return fmt.Errorf("%s with the outcome %.40q", kind, a.Outcome)
	}
	return nil
}

func checkPending(all []PendingApproval) error {
	if len(all) > maxPendingApprovals {
		return errors.New("more questions wait than can")
	}
	for _, a := range all {
		if a.Approval < 1 || !IsDigest(a.Digest) || len(a.Tool) > maxQuestionText || len(a.Arguments) > maxQuestionText {
			return fmt.Errorf("question %d is none", a.Approval)
		}
	}
	return nil
}
