package delegation

import (
	"encoding/json"
	"errors"
	"strings"
)

var errFound = errors.New("both were found")

// PeekIDs finds the ids in a request that could not be read, so that the answer can repeat them. The results are data,
// not ids: they are unchecked, only cut at MaxRequestID bytes, and empty if nothing was found.
func PeekIDs(data []byte) (subagentID, requestID string) {
	wanted := map[string]*string{"subagent_id": &subagentID, "request_id": &requestID}
	// The text is known to be a bad request. Ids that stand before the bad part count, so the error does not matter.
	_ = eachMember(data, func(name string, value json.RawMessage) error {
		if into, ok := wanted[name]; ok {
			*into = peekText(value)
			delete(wanted, name)
		}
		if len(wanted) == 0 {
			return errFound
		}
		return nil
	})
	return subagentID, requestID
}

// peekText returns a scalar as text, and "" for anything else.
func peekText(value json.RawMessage) string {
	v, err := decodeValue(value)
	if err != nil {
		return ""
	}
	text, _ := takeBooleanAsText(takeNumberAsText(v)).(string)
	if len(text) > MaxRequestID {
		text = strings.ToValidUTF8(text[:MaxRequestID], "")
	}
	return text
}
