package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIDFinder: of a message it finds the id that a parser finds, and of anything else at most something short.
func FuzzIDFinder(f *testing.F) {
	for _, seed := range []string{
		`{"id":1}`, `{"jsonrpc":"2.0","id":"a\"b","method":"x"}`, `{"params":{"id":2},"id":3}`, `{"x":"\"id\":4","id":5}`, `{"id":{"a":1}}`, `[{"id":1}]`, `{"id":null}`, `{"a":["id",{"id":7}],"id":-1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var found idFinder
		for len(data) > 0 && data[len(data)-1] == '\n' {
			data = data[:len(data)-1]
		}
		found.write(data)
		if len(found.found()) > maxID+1 || len(found.key) > maxID {
			t.Errorf("it keeps %d and %d bytes", len(found.found()), len(found.key))
		}
		var message struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(data, &message) != nil || !isSimple(message.ID) || bytes.Count(data, []byte("id")) != 1 || bytes.ContainsAny(data, `\`) {
			return // parsers differ on a name that comes twice, or is spelled in another way
		}
		if !bytes.Equal(found.found(), message.ID) {
			t.Errorf("of %q it found %q, want %q", data, found.found(), message.ID)
		}
	})
}

// isSimple says whether an id is a number or a text, as the protocol has it.
func isSimple(id json.RawMessage) bool {
	return len(id) > 0 && len(id) <= maxID && id[0] != '{' && id[0] != '[' && id[0] != 'n' && id[0] != 't' && id[0] != 'f'
}
