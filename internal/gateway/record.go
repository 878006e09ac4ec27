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

// Bounds of what is recorded.
const (
	maxRecord  = 64 << 20 // of one door
	maxRecords = 1 << 30  // of all of them; then the oldest are removed
)

const recordSuffix = ".jsonl"

// Record is one line of a door's record: a request, a part of the answer to it, or its end.
type Record struct {
	At       time.Time `json:"at"`
	Exchange int       `json:"exchange"` // from 1 on, and anew when the gateway was started again; those of one door may be under way at once
	Route    string    `json:"route,omitempty"`
	Model    string    `json:"model,omitempty"`
	Method   string    `json:"method,omitempty"`
	Path     string    `json:"path,omitempty"`
	Request  string    `json:"request,omitempty"` // its body, as it left
	Answer   string    `json:"answer,omitempty"`  // a part, as the child got it
	Status   int       `json:"status,omitempty"`  // at the end
	Code     string    `json:"code,omitempty"`    // at the end, as in Event
	Full     bool      `json:"full,omitempty"`    // nothing more is recorded of this door
}

// recorder writes the conversation of one door to a file of the host's. Only doors whose profile wants it have one. What the credential is
// does not get there: it is set behind the request and taken out of the answer before it.
type recorder struct {
	mu        sync.Mutex
	file      *os.File
	left      int
	exchanges int
	trouble   error // the first one; the conversation goes on without a record
}

// newRecorder opens the file of a door, which a gateway of before may have begun, and makes room for it. Records of doors that are open stay.
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

// makeRoom removes the oldest records until the rest takes no more than so many bytes. Those of doors that stay are counted and left.
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

// begin records a request and returns the number of its exchange. A nil recorder records nothing.
func (r *recorder) begin(line Record) int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges++
	line.Exchange = r.exchanges
	r.write(line)
	return line.Exchange
}

func (r *recorder) note(line Record) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(line)
}

// write appends a line, or, where it has no place any more, the one that says so.
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

// close returns what kept the record from being whole.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.trouble, r.file.Close())
}

// answers passes an answer on and records it. A character that comes in two parts is recorded with the second.
type answers struct {
	to       io.Writer
	record   *recorder
	exchange int
	rest     []byte
}

func (a *answers) Write(p []byte) (int, error) {
	text := append(a.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				whole = len(text) - back
			}
			break
		}
	}
	a.record.note(Record{Exchange: a.exchange, Answer: string(text[:whole])})
	a.rest = append([]byte(nil), text[whole:]...)
	return a.to.Write(p)
}

// end records what is left of a character whose second part never came.
func (a *answers) end() {
	if len(a.rest) > 0 {
		a.record.note(Record{Exchange: a.exchange, Answer: string(a.rest)})
	}
}
