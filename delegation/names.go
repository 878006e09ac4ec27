package delegation

import (
	"strconv"
	"strings"
)

// HeartbeatName names the file that a watcher keeps writing while it serves the outbox.
const HeartbeatName = "watcher.json"

// maxName is the longest name of a file, in bytes, on every file system that matters here.
const maxName = 255

// tempPrefix begins the names of files that are being written. Only digits follow it.
const tempPrefix = ".torno-"

// Kind tells the files of an outbox apart by their names.
type Kind int

// The kinds of files. KindOther is everything that the protocol does not know, including temporary files.
const (
	KindOther Kind = iota
	KindRequest
	KindResponse
	KindCancel
	KindStatus
	KindEvents
	KindHeartbeat
	KindInput
)

func (k Kind) String() string {
	return [...]string{"other", "request", "response", "cancel", "status", "events", "heartbeat", "input"}[k]
}

// RequestName names the file that asks for a subagent.
func RequestName(id SubagentID) string { return "request_" + id.s + ".json" }

// ResponseName names the file that answers a request.
func ResponseName(id SubagentID) string { return "response_" + id.s + ".json" }

// CancelName names version 1's sentinel. It ends the run of the request that is there.
func CancelName(id SubagentID) string { return RawCancelName(id.s) }

// RawCancelName rebuilds the name of a sentinel from the unchecked text that ParseName returned.
func RawCancelName(raw string) string { return "cancel_" + raw }

// CancelRequestName names the sentinel that ends the run of one request, whenever the sentinel was written.
func CancelRequestName(id SubagentID, request RequestID) string {
	return CancelName(id) + "." + request.Hash()
}

// ParseCancel splits the text that ParseName returned for a sentinel into an id and a RequestID.Hash. It is not ok if
// there is no hash. The same text can also be another subagent's id.
func ParseCancel(raw string) (rawID, requestHash string, ok bool) {
	rawID, requestHash, ok = cutLast(raw, ".")
	return rawID, requestHash, ok && isHash(requestHash)
}

// IsSentinel reports whether the text that ParseName returned for a sentinel is a subagent's id, or such an id with the
// hash of a request. It cuts the hash off first, because a long id with a hash would be too long to parse as an id.
func IsSentinel(raw string) bool {
	if id, _, ok := ParseCancel(raw); ok {
		raw = id
	}
	_, err := ParseSubagentID(raw)
	return err == nil
}

// StatusName names the file with the state of the newest run.
func StatusName(id SubagentID) string { return "status_" + id.s + ".json" }

// EventsName returns the name of segment seq, from 1, of a request's live output.
func EventsName(id SubagentID, request RequestID, seq int) string {
	return "events_" + id.s + "." + request.Hash() + "." + strconv.Itoa(seq) + ".jsonl"
}

// ResponseNameFor returns the name of the response to a request file whose name need not hold a valid id. It is not ok
// if the response's name would be too long for a file.
func ResponseNameFor(rawID string) (name string, ok bool) {
	name = "response_" + rawID + ".json"
	return name, checkName(name) == nil
}

// ParseName returns the kind of file that a name stands for, and the unchecked part of the name where the id stands.
func ParseName(name string) (Kind, string) {
	if name == HeartbeatName {
		return KindHeartbeat, ""
	}
	if id, ok := between(name, "request_", ".json"); ok {
		return KindRequest, id
	}
	if id, ok := between(name, "response_", ".json"); ok {
		return KindResponse, id
	}
	if id, ok := between(name, "status_", ".json"); ok {
		return KindStatus, id
	}
	if id, ok := strings.CutPrefix(name, "cancel_"); ok {
		return KindCancel, id
	}
	if id, _, _, ok := ParseEventsName(name); ok {
		return KindEvents, id
	}
	if id, _, _, ok := ParseInputName(name); ok {
		return KindInput, id
	}
	return KindOther, ""
}

// maxNumber bounds the number in a name, such as the number of a live output segment. A run would need years to get
// there.
const maxNumber = 1 << 31

// ParseEventsName splits the name of an events segment. requestHash is a RequestID.Hash; seq counts from 1.
func ParseEventsName(name string) (rawID, requestHash string, seq int, ok bool) {
	return parseNumbered(name, "events_", ".jsonl")
}

// parseNumbered splits a name that consists of prefix, an id, the hash of a request, a number from 1, and suffix.
func parseNumbered(name, prefix, suffix string) (rawID, requestHash string, n int, ok bool) {
	rest, ok := between(name, prefix, suffix)
	if !ok {
		return "", "", 0, false
	}
	rest, number, _ := cutLast(rest, ".")
	rawID, requestHash, ok = cutLast(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > maxNumber || strconv.Itoa(n) != number || !isHash(requestHash) {
		return "", "", 0, false
	}
	return rawID, requestHash, n, true
}

// IsTemp reports whether name is a temporary file of Publish: either Publish is writing it, or, if it is old, its
// writer was killed and left it. Both the parent and the watcher write under such names, so only an old file may be
// swept away.
func IsTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, tempPrefix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func between(name, prefix, suffix string) (string, bool) {
	if len(name) < len(prefix)+len(suffix) || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) {
		return "", false
	}
	return name[len(prefix) : len(name)-len(suffix)], true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

func isHash(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// QuoteName quotes a name from an outbox for people, without its control characters. It shows at most 100 bytes of the
// name.
func QuoteName(name string) string {
	if len(name) > 100 {
		name = name[:100] + "…"
	}
	return strconv.QuoteToASCII(name)
}
