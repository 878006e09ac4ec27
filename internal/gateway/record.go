package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of the records.
const (
	maxRecord  = 64 << 20 // bytes for one door
	maxRecords = 1 << 30  // bytes for all doors; above it the oldest records are removed
	maxPart    = 64 << 10 // bytes of a request in one line: JSON can make six of each
)

const recordSuffix = ".jsonl"

// Record is one line of a door's record: a request, a part of the answer to it, or its end.
type Record struct {
	At       time.Time `json:"at"`
	Exchange int       `json:"exchange"` // from 1, again from 1 after a gateway restart; several may be under way at once
	Route    string    `json:"route,omitempty"`
	Model    string    `json:"model,omitempty"`
	Method   string    `json:"method,omitempty"`
	Path     string    `json:"path,omitempty"`
	Request  string    `json:"request,omitempty"` // the body, or a part of it, as sent to the upstream
	Answer   string    `json:"answer,omitempty"`  // a part of the answer, as sent to the child
	Status   int       `json:"status,omitempty"`  // in the last line of an exchange
	Code     string    `json:"code,omitempty"`    // in the last line of an exchange, as in Event
	Full     bool      `json:"full,omitempty"`    // the record of this door is full and ends here
}

// recorder writes the conversation of one door to a file on the host. Only doors whose profile asks for it have one.
// The credential does not get into the file: the gateway sets it after the request was recorded, and scrubs the answer
// before it records it.
type recorder struct {
	mu        sync.Mutex
	file      *os.File
	left      int
	exchanges int
	trouble   error // the first write error; the conversation goes on without a record
}

// newRecorder opens the record of a door, which an earlier gateway may have begun, and makes room for it. It keeps the
// records of open doors.
func newRecorder(dir, id string, isOpen func(id string) bool) (*recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of records: %w", err)
	}
	stays := func(other string) bool { return other == id || isOpen(other) }
	if err := makeRoom(dir, maxRecords-maxRecord, stays); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, id+recordSuffix), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a record: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("begin a record: %w", err)
	}
	return &recorder{file: f, left: maxRecord - int(min(info.Size(), maxRecord))}, nil
}

// makeRoom removes the oldest records until the rest takes no more than most bytes. It counts the records that must
// stay, but keeps them.
func makeRoom(dir string, most int64, stays func(id string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for records: %w", err)
	}
	var all []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasSuffix(entry.Name(), recordSuffix) {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range all {
		if most -= info.Size(); most >= 0 || stays(strings.TrimSuffix(info.Name(), recordSuffix)) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, info.Name())); err != nil {
			return fmt.Errorf("remove an old record: %w", err)
		}
	}
	return nil
}

// begin records a request and returns the number of its exchange. A large body takes several lines. A nil recorder
// records nothing.
func (r *recorder) begin(line Record, body []byte) int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges++
	line.Exchange = r.exchanges
	for first := true; first || len(body) > 0; first = false {
		part := body
		if len(body) > maxPart {
			part = wholeCharacters(body[:maxPart])
		}
		line.Request, body = string(part), body[len(part):]
		r.write(line)
		line = Record{Exchange: line.Exchange}
	}
	return line.Exchange
}

// wholeCharacters cuts a character off that has only begun.
func wholeCharacters(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				return text[:len(text)-back]
			}
			break
		}
	}
	return text
}

func (r *recorder) note(line Record) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(line)
}

// write appends a line. If the line does not fit any more, it appends a last line that says so.
func (r *recorder) write(line Record) {
	if r.left <= 0 || r.trouble != nil {
		return
	}
	line.At = time.Now().UTC()
	text, err := json.Marshal(line)
	if err == nil && len(text) >= r.left {
		r.left = 0
		text, err = json.Marshal(Record{At: line.At, Exchange: line.Exchange, Full: true})
	}
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	r.left -= len(text) + 1
	r.trouble = err
}

// close closes the file and returns the first error that made the record incomplete.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.trouble, r.file.Close())
}

// answers passes an answer on and records it. If a character is split over two parts, it is recorded with the second
// part.
type answers struct {
	to       io.Writer
	record   *recorder
	exchange int
	rest     []byte
}

func (a *answers) Write(p []byte) (int, error) {
	text := append(a.rest, p...)
	whole := wholeCharacters(text)
	a.record.note(Record{Exchange: a.exchange, Answer: string(whole)})
	a.rest = slices.Clone(text[len(whole):])
	return a.to.Write(p)
}

// end records the first bytes of a character whose rest never came.
func (a *answers) end() {
	if len(a.rest) > 0 {
		a.record.note(Record{Exchange: a.exchange, Answer: string(a.rest)})
	}
}
