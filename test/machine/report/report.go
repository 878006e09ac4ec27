// Package report is how a machine tells its host what came of a test: one line of JSON each, on a serial line of its own.
// Between them empty lines say that the machine goes on.
// Whatever a test prints is a string in it, so it cannot end the line or begin another.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Result is the result of a test, which was a process.
type Result struct {
	Test   string
	Exit   int    // of the process; -1 when it was killed
	Output string // both streams, cut at the front
	Took   time.Duration
	Error  string // why there was no such process
}

// Write writes one.
func Write(w io.Writer, r Result) error { return json.NewEncoder(w).Encode(r) }

// maxLine bounds what is read: a machine is not trusted to come to an end.
const maxLine = 8 << 20

// Beat says that the machine goes on, whatever its test does. It is an empty line.
func Beat(w io.Writer) error {
	_, err := w.Write([]byte{'\n'})
	return err
}

// Read reads them all. Results before an error count.
func Read(r io.Reader) ([]Result, error) {
	var all []Result
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // a beat
		}
		var one Result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return all, fmt.Errorf("a machine reports %.200q: %w", lines.Text(), err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}
