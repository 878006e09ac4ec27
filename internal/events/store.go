package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"torno/internal/evict"
	"torno/sandbox"
)

// Name is the store's directory in a state directory.
const Name = "events"

// MaxReaders bounds how many readers a store has at once. Each holds two files and a line.
const MaxReaders = 64

// ErrReaders means that the store has as many readers as it allows.
var ErrReaders = fmt.Errorf("%d readers follow events already", MaxReaders)

// Bounds limits how much is kept.
type Bounds struct {
	Age    time.Duration // since the last event of a run; 0 for any age
	Run    int64         // bytes of one run
	Number int           // of runs
	Bytes  int64         // of all runs
}

// Usual contains the usual bounds, without an age.
var Usual = Bounds{Run: 4 << 20, Number: 4000, Bytes: 512 << 20}

// Store keeps the logs of runs. A nil store keeps none.
type Store struct {
	dir    *os.Root
	bounds Bounds
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex // guards the fields below; only one segment is written at a time
	number  int        // of runs that have a log
	bytes   int64      // of all logs
	readers map[*Reader]struct{}
}

// Open opens the store of a state directory, and makes it if it is missing. now tells the time of day that sets the age
// of logs.
func Open(state string, b Bounds, now func() time.Time, log *slog.Logger) (*Store, error) {
	root, err := os.OpenRoot(state)
	if err == nil {
		err = root.MkdirAll(Name, 0o700)
		_ = root.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("make the directory for events: %w", err)
	}
	s, err := OpenReadOnly(state)
	if err != nil {
		return nil, err
	}
	s.bounds, s.now, s.log = b, now, log
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune()
	return s, nil
}

// OpenReadOnly opens the logs that a watcher has kept in a state directory. It returns fs.ErrNotExist if no watcher has
// kept any.
func OpenReadOnly(state string) (*Store, error) {
	dir, err := os.OpenRoot(filepath.Join(state, Name))
	if err != nil {
		return nil, fmt.Errorf("open the directory for events: %w", err)
	}
	return &Store{dir: dir, log: slog.New(slog.DiscardHandler), readers: map[*Reader]struct{}{}}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.dir.Close() }

// Endings of the names of a log's files.
const (
	suffix = ".jsonl"
	older  = ".old" + suffix
)

// nameOf returns the name of a run's log, which all attempts share.
func nameOf(key sandbox.RunKey) string {
	key.Attempt = 1
	whose := sha256.Sum256([]byte(key.Outbox))
	return hex.EncodeToString(whose[:8]) + "-" + key.Hash()
}

// pruneEvery is the interval at which the store looks for logs that are too old.
const pruneEvery = time.Hour

// Loop removes logs that are too old until ctx is done.
func (s *Store) Loop(ctx context.Context) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.mu.Lock()
			s.prune()
			s.mu.Unlock()
		}
	}
}

// slack is the share of the bounds, 1/slack, that pruning leaves free, so that not every new log needs a listing.
const slack = 8

// prune removes logs that are too old and logs beyond the other bounds, and counts the rest.
func (s *Store) prune() {
	logs, err := s.list()
	if err != nil {
		s.log.Warn("the events of runs cannot be checked; the next check is in an hour", "error", err)
		return
	}
	now := s.now()
	var young []evict.File
	for _, l := range logs {
		if s.bounds.Age > 0 && now.Sub(l.At) > s.bounds.Age {
			s.remove(l)
			continue
		}
		young = append(young, l)
	}
	s.number, s.bytes = len(young), 0
	for _, l := range young {
		s.bytes += l.Size
	}
	if s.number < s.bounds.Number && s.bytes <= s.bounds.Bytes {
		return
	}
	room := evict.Bounds{Number: s.bounds.Number - s.bounds.Number/slack, Bytes: s.bounds.Bytes - s.bounds.Bytes/slack}
	for _, l := range evict.Over(young, room) {
		s.remove(l)
		s.number--
		s.bytes -= l.Size
	}
}

// list returns the logs, each with both its files.
func (s *Store) list() (logs []evict.File, err error) {
	entries, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), suffix)
		info, err := e.Info()
		if !ours || err != nil || !info.Mode().IsRegular() {
			continue
		}
		name = strings.TrimSuffix(name, ".old")
		i, known := at[name]
		if !known {
			owner, _, _ := strings.Cut(name, "-")
			i, at[name] = len(logs), len(logs)
			logs = append(logs, evict.File{Name: name, Owner: owner})
		}
		logs[i].Size += info.Size()
		if info.ModTime().After(logs[i].At) {
			logs[i].At = info.ModTime()
		}
	}
	return logs, nil
}

func (s *Store) remove(l evict.File) {
	for _, end := range []string{suffix, older} {
		if err := s.dir.Remove(l.Name + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("a run's events beyond the bounds cannot be removed", "file", l.Name+end, "error", err)
		}
	}
}
