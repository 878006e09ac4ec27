package keeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"torno/internal/crash"
)

// maxEnd is the most that an end takes: what the runtime says is cut, and no byte of it becomes more than six in JSON.
const maxEnd = 16 << 10

// reserveEnd takes the place on the disk that an end will need. A disk that is full later cannot keep it from being written.
func reserveEnd(box *os.Root) error {
	return box.WriteFile("."+endName, bytes.Repeat([]byte(" "), maxEnd), 0o600)
}

// writeEnd writes an end into the place reserved for it, and lets it be seen by one rename. What follows it there are spaces.
func writeEnd(box *os.Root, end End) error {
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	file, err := box.OpenFile("."+endName, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	crash.At("keeper.written")
	return box.Rename("."+endName, endName)
}

// NotStarted is why there was nothing that could end; nil where there was.
func (e End) NotStarted() error {
	if e.Started {
		return nil
	}
	if e.Trouble == "" {
		return &StartError{"it was ended before it ran"}
	}
	return &StartError{e.Trouble}
}

// StartError is why a runtime did not start a sandbox, in its own words.
type StartError struct{ Text string }

func (e *StartError) Error() string { return "the sandbox did not start: " + e.Text }

// maxSaid bounds what of the runtime's own words is told on.
const maxSaid = 2 << 10

// tail is the end of a file, or why it cannot be read; "" where there is none.
func tail(name string) string {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(info.Size()-maxSaid, 0), maxSaid))
	if err != nil {
		return fmt.Sprintf("%s: %v", text, err)
	}
	return string(text)
}
