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

// said holds the watcher's most recent routes and prices, from a file that only the watcher writes. The warden reads no
// place that is not in it.
type said struct {
	path string

	mu     sync.Mutex
	of     os.FileInfo // the file that routes were read from
	routes []*route.Route
}

func saidIn(state string) *said { return &said{path: filepath.Join(state, setup.FileName)} }

// Setup returns the text of the file, or nil if there is none.
func (s *said) Setup() ([]byte, error) {
	text, err := setup.Read(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Routes returns the routes in the file. It reads the file again when the file has changed.
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

// maxLine is the longest line of the log that copyLines keeps in one piece.
const maxLine = 64 << 10

// copyLines copies the gateway's log line by line, because the warden writes to the same log.
func copyLines(to io.Writer, from io.Reader) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			_, _ = to.Write(line) // the gateway goes on even if its log cannot be written
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
