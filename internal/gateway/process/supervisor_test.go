package process

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/internal/gateway/control"
)

// TestAnEndIsSaid: a gateway that ends between two looks is not replaced in silence, and one that is only slow is not started twice.
func TestAnEndIsSaid(t *testing.T) {
	state, said := t.TempDir(), &bytes.Buffer{}
	program := filepath.Join(t.TempDir(), "gateway")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	client := control.Dial(state)
	defer client.Close()
	s := &Supervisor{
		State: state, Program: func() (string, error) { return program, nil }, Client: client, Log: slog.New(slog.NewTextHandler(said, nil)),
		Trouble: func(error) {}, Patience: 2 * time.Second,
	}
	defer func() {
		_ = s.child.Kill()
		<-s.started
	}()
	s.Look(t.Context())
	first := s.child.Pid
	if s.Look(t.Context()); s.child.Pid != first {
		t.Error("a gateway that does not answer yet was started twice")
	}
	if err := s.child.Kill(); err != nil {
		t.Fatal(err)
	}
	for len(s.started) == 0 { // until its end is known; go test's own time bounds this
		time.Sleep(time.Millisecond)
	}
	if s.Look(t.Context()); s.child.Pid == first || strings.Count(said.String(), "the model gateway has ended") != 1 {
		t.Errorf("process %d was followed by %d: %s", first, s.child.Pid, said)
	}
}

// TestNothingIsWrittenWhereNoGatewayStarts: routes are not written down for a gateway that cannot be started.
func TestNothingIsWrittenWhereNoGatewayStarts(t *testing.T) {
	state := filepath.Join(t.TempDir(), "gateway")
	client := control.Dial(state)
	defer client.Close()
	var said error
	s := &Supervisor{
		State: state, Setup: []byte("routes: {}\n"), User: 12345, Program: func() (string, error) { return "", errors.New("there is no program") },
		Client: client, Log: slog.New(slog.DiscardHandler), Trouble: func(err error) { said = err },
	}
	s.Look(t.Context())
	if _, err := os.Lstat(state); !errors.Is(err, fs.ErrNotExist) || said == nil {
		t.Errorf("the gateway's directory: %v; what was said: %v", err, said)
	}
}
