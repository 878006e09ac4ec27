package wire

import (
	"fmt"
	"net/http"
)

// Error refuses a request that was not understood to its last byte. The connection ends after the answer.
type Error struct {
	Status int
	Code   string // one word, which events count
	Text   string // for people; it quotes nothing from the client
}

func (e *Error) Error() string { return e.Text }

func malformed(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, "malformed", fmt.Sprintf(format, args...)}
}
