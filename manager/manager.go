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

// The largest files that are read from an outbox. Each bound is well over the size that an honest watcher writes.
const (
	maxResponse  = 1 << 20
	maxStatus    = 64 << 10
	maxHeartbeat = 1 << 20
	maxRequest   = 64 << 20 // the most that a watcher can be told to read
	usualRequest = 4 << 20  // a watcher's limit unless it is told another one
)

// DefaultPatience is the time that a Wait continues while no watcher serves the outbox. A watcher that is restarted is
// back by then.
const DefaultPatience = time.Minute

// Options are all optional.
type Options struct {
	// Poll is the time between two looks at the outbox when no notification comes; 250 ms by default.
	Poll time.Duration
	// Patience is the time that a Wait continues while no watcher serves the outbox. 0 means DefaultPatience; below
	// zero Wait does not continue at all.
	Patience time.Duration
	// AnswerMax limits how many bytes of an answer are read; 1 MiB by default.
	AnswerMax int64
	Log       *slog.Logger
}

// Manager is a client of one outbox. Several goroutines may call its methods at once.
type Manager struct {
	dir       *delegation.Dir
	poll      time.Duration
	patience  time.Duration
	answerMax int64
	log       *slog.Logger
	hints     *hints
	impatient atomic.Bool                       // another client has held the lock of the outbox for too long
	looked    atomic.Pointer[map[string]looked] // by the last listing; the map behind it never changes
}

// New opens an outbox. The outbox must exist, because only the host makes outboxes.
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

// Close closes the outbox. Runs continue without their client.
func (m *Manager) Close() error {
	return errors.Join(m.hints.close(), m.dir.Close())
}

// Outbox returns the absolute path of the outbox.
func (m *Manager) Outbox() string { return m.dir.Path() }

// read reads a file of the outbox. If the file was replaced meanwhile, it reads again, because the new file is whole.
func (m *Manager) read(name string, limit int64) (data []byte, err error) {
	for range 3 {
		data, _, err = m.dir.Read(name, limit)
		if !errors.Is(err, delegation.ErrChanged) {
			break
		}
	}
	return data, err
}

// readRequest does for a request file what read does for other files.
func (m *Manager) readRequest(name string, limit int64) (data []byte, read delegation.Reading, err error) {
	for range 3 {
		data, read, err = m.dir.ReadRequest(name, limit)
		if !errors.Is(err, delegation.ErrChanged) {
			break
		}
	}
	return data, read, err
}

// root opens the outbox to reach the workspaces below it.
func (m *Manager) root() (*os.Root, error) {
	if err := m.dir.Alive(); err != nil {
		return nil, fmt.Errorf("outbox %s: %w", m.Outbox(), err)
	}
	return m.dir.OpenRoot()
}
