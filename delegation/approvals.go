package delegation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of questions in a status.
const (
	maxPendingApprovals = 32
	maxQuestionText     = 4 << 10
)

// PendingApproval is an agent's question whether it may call a tool. Tool and Arguments are the child's words.
type PendingApproval struct {
	Approval  int       `json:"approval"`  // its number in the run, from 1
	Digest    string    `json:"digest"`    // of tool, arguments, policy and run: a decision names it
	Tool      string    `json:"tool"`      // its name
	Arguments string    `json:"arguments"` // JSON in its canonical form, or the beginning of it
	Cut       bool      `json:"cut,omitempty"`
	AskedAt   time.Time `json:"asked_at"`
	ExpiresAt time.Time `json:"expires_at"`           // denied then
	DecidedBy []string  `json:"decided_by,omitempty"` // parent, operator
}

// ApprovalEvent is what an event says of a question beside its tool.
type ApprovalEvent struct {
	Approval  int       `json:"approval"`
	Digest    string    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of one that was asked
	Outcome   string    `json:"outcome,omitempty"`   // of one that was decided: approved, denied, withdrawn
	By        string    `json:"by,omitempty"`        // policy, parent, operator, time, agent, change, end
}

// shortDigest is how many digits of a digest people see, and have to type.
const shortDigest = 8

// ShortDigest returns the beginning of a digest, for people.
func ShortDigest(digest string) string { return digest[:min(shortDigest, len(digest))] }

// ApprovalName names a question for a person to type: by its number, which no other question of the run gets, and by the beginning of its digest. A
// digest alone would not do: a child can have two calls ready whose digests begin alike.
func ApprovalName(number int, digest string) string {
	return fmt.Sprintf("%d %s", number, ShortDigest(digest))
}

// NamesApproval reports whether words name a question as ApprovalName does.
func NamesApproval(words []string, number int, digest string) bool {
	return len(words) == 2 && words[0] == strconv.Itoa(number) && beginsDigest(words[1], digest)
}

// MeansApproval reports whether each word is the number of a question or the beginning of its digest. No words mean every question.
func MeansApproval(words []string, number int, digest string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		return word != strconv.Itoa(number) && !beginsDigest(word, digest)
	})
}

func beginsDigest(word, digest string) bool {
	return len(word) >= shortDigest && strings.HasPrefix(digest, word)
}

// IsDigest says whether a text has the form of a question's digest.
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
