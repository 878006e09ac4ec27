package manager

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"torno/delegation"
)

// The largest files that are read from an outbox. Each bound is well over what an honest watcher writes.
const (
	maxResponse  = 1 << 20
	maxStatus    = 64 << 10
	maxHeartbeat = 1 << 20
	maxRequest   = 64 << 20 // the most that a watcher can be told to read
	usualRequest = 4 << 20  // what it reads unless it is told
)

// DefaultPatience is how long a Wait goes on while no watcher serves the outbox: a watcher that is restarted is back by then.
const DefaultPatience = time.Minute

// Options are all optional.
type Options struct {
	// Poll is how often the outbox is looked at where no notification comes; 250 ms by default.
	Poll time.Duration
	// Patience is how long a Wait goes on while no watcher serves the outbox; by default DefaultPatience, below zero not at all.
	Patience time.Duration
	// AnswerMax is how much of an answer is read; 1 MiB by default.
	AnswerMax int64
	Log       *slog.Logger
}

// Manager is a client of one outbox. Its methods may be called from several goroutines.
type Manager struct {
	dir       *delegation.Dir
	poll      time.Duration
	patience  time.Duration
	answerMax int64
	log       *slog.Logger
	hints     *hints
	looked    atomic.Pointer[map[string]looked] // by the last listing; no map in it is changed
}

// New opens an outbox, which must exist: it is the host's to make.
func New(outbox string, o Options) (*Manager, error) {
	path, err := filepath.Abs(outbox)
	if err != nil {
		return nil, fmt.Errorf("outbox %s: %w", outbox, err)
	}
	dir, err := delegation.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("open outbox %s: %w", path, err)
	}
	m := &Manager{
		dir:       dir,
		poll:      cmp.Or(o.Poll, 250*time.Millisecond),
		patience:  max(cmp.Or(o.Patience, DefaultPatience), 0),
		answerMax: cmp.Or(o.AnswerMax, 1<<20),
		log:       cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
	}
	m.hints = newHints(path, m.log)
	return m, nil
}

// Close gives the outbox back. Runs go on without their client.
func (m *Manager) Close() error {
	return errors.Join(m.hints.close(), m.dir.Close())
}

// Outbox is the absolute path of the outbox.
func (m *Manager) Outbox() string { return m.dir.Path() }

// read reads a file of the outbox. It reads a file that was replaced meanwhile again: it is whole now.
func (m *Manager) read(name string, limit int64) (data []byte, err error) {
	for range 3 {
		data, _, err = m.dir.Read(name, limit)
		if !errors.Is(err, delegation.ErrChanged) {
			break
		}
	}
	return data, err
}

// readRequest is read for a request file.
func (m *Manager) readRequest(name string, limit int64) (data []byte, read delegation.Reading, err error) {
	for range 3 {
		data, read, err = m.dir.ReadRequest(name, limit)
		if !errors.Is(err, delegation.ErrChanged) {
			break
		}
	}
	return data, read, err
}

// root opens the outbox for what lies beneath it: workspaces.
func (m *Manager) root() (*os.Root, error) {
	if err := m.dir.Alive(); err != nil {
		return nil, fmt.Errorf("outbox %s: %w", m.Outbox(), err)
	}
	return m.dir.OpenRoot()
}
