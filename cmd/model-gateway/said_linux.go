package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"torno/internal/gateway/route"
	"torno/internal/gateway/setup"
)

// said is what the watcher said last, in the file that it alone writes. The warden reads no place that is not in it.
type said struct {
	path string

	mu     sync.Mutex
	of     os.FileInfo // the file that routes are of
	routes []*route.Route
}

func saidIn(state string) *said { return &said{path: filepath.Join(state, setup.FileName)} }

// Setup is its text.
func (s *said) Setup() ([]byte, error) {
	text, err := setup.Read(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Routes are those of the text. It is read again when the file is another one.
func (s *said) Routes() ([]*route.Route, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if s.of != nil && os.SameFile(s.of, now) && s.of.ModTime().Equal(now.ModTime()) && s.of.Size() == now.Size() {
		return s.routes, nil
	}
	text, err := setup.Read(s.path)
	if err != nil {
		return nil, err
	}
	read, err := setup.Parse(text)
	if err != nil {
		return nil, err
	}
	s.of, s.routes = now, read.Routes
	return s.routes, nil
}

// maxLine is the longest line of the log that is kept whole.
const maxLine = 64 << 10

// copyLines writes what the gateway logs, a line at a time: the warden logs to the same place.
func copyLines(to io.Writer, from io.Reader) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			_, _ = to.Write(line) // a log that cannot be written ends no gateway
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
