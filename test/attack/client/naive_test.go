package client

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// enough is more than any honest file has: a reader that reads on has no bound.
const enough = 80 << 20

// falls says whether a careless client, which just reads the file and expects it to be in order, falls for what is at a
// path: it waits for ever, reads without end, gives up the run, or takes what is planted.
func (s *scene) falls(path string) bool {
	s.Helper()
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return true // a link in a circle: the run is given up
	case info.Mode()&os.ModeNamedPipe != 0:
		return s.blocks(path)
	case info.Size() > enough || info.Mode()&os.ModeDevice != 0:
		return endless(path)
	}
	data, err := os.ReadFile(path)
	return err != nil || strings.Contains(string(data), planted) || strings.HasSuffix(path, ".json") && !json.Valid(data)
}

// blocks says whether a reader waits. A pipe can be opened for writing without waiting only while a reader waits.
func (s *scene) blocks(path string) bool {
	s.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = os.ReadFile(path) // whatever comes of it, it came late
	}()
	writer := -1
	for deadline := time.Now().Add(patience); writer < 0 && time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			writer = fd
		}
	}
	if writer < 0 {
		return false
	}
	select {
	case <-done:
		s.Error("it did not wait")
	default:
	}
	s.must(unix.Close(writer))
	<-done
	return true
}

// endless says whether more can be read than any machine has room for.
func endless(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	n, err := io.CopyN(io.Discard, file, enough)
	return n == enough && !errors.Is(err, io.EOF)
}
