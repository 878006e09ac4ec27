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

// maxEnd bounds the size of an end: the runtime's message is cut, and in JSON no byte of it takes more than six bytes.
const maxEnd = 16 << 10

// reserveEnd reserves the place on the disk for the end. So a disk that is full later cannot keep the end from being
// written.
func reserveEnd(box *os.Root) error {
	return box.WriteFile("."+endName, bytes.Repeat([]byte(" "), maxEnd), 0o600)
}

// writeEnd writes an end into its reserved place, and makes it visible by one rename. The rest of the place is filled
// with spaces.
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

// NotStarted returns the reason why there was no sandbox that could end, or nil if there was one.
func (e End) NotStarted() error {
	if e.Started {
		return nil
	}
	if e.Trouble == "" {
		return &StartError{"it was ended before it ran"}
	}
	return &StartError{e.Trouble}
}

// StartError says, in the runtime's own words, why it did not start a sandbox.
type StartError struct{ Text string }

func (e *StartError) Error() string { return "the sandbox did not start: " + e.Text }

// maxSaid bounds how much of the runtime's messages is passed on.
const maxSaid = 2 << 10

// tail returns the end of a file, or the reason why it cannot be read, or "" if there is no file.
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
