package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"torno/internal/agent"
	"torno/sandbox"
)

// spool is the state of the bundle that a sandbox is sending.
type spool struct {
	mu     sync.Mutex // guards the fields below, and the writing
	bundle int        // the number of the bundle that is coming
	length int64      // bytes of it that have come
	torn   bool       // the rest of this bundle is ignored
	taken  int64      // bytes of all bundles
	failed error      // if set, nothing more from this sandbox is written
}

// maxTaken bounds how much a sandbox may write, overwritten bytes included.
const maxTaken = 2 * agent.MaxBundles * agent.MaxBundle

var errTooMuch = errors.New("the agent sent more session data than is allowed")

// The names of a sandbox's files.
func baseName(id sandbox.SandboxID) string  { return incoming + "/" + string(id) }
func noteName(id sandbox.SandboxID) string  { return baseName(id) + ".note" }
func wholeName(id sandbox.SandboxID) string { return baseName(id) + ".whole" }
func newName(id sandbox.SandboxID) string   { return baseName(id) + ".new" }
func partName(id sandbox.SandboxID, bundle int) string {
	return fmt.Sprintf("%s.%d.part", baseName(id), bundle)
}

func (s *Store) writeNote(id sandbox.SandboxID, data []byte) error {
	return s.dir.WriteFile(noteName(id), data, 0o600)
}

// said reads the note about a sandbox.
func (s *Store) said(id sandbox.SandboxID) (n note, err error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return n, fs.ErrNotExist
	}
	data, err := s.dir.ReadFile(noteName(id))
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(data, &n); err != nil {
		return n, fmt.Errorf("read the note of the run: %w", err)
	}
	return n, nil
}

// Take stores a part of a bundle. Parts may come a second time after a watcher's death; they overwrite the first. Take
// waits for nothing but the disk.
func (s *Store) Take(id sandbox.SandboxID, p agent.Part) {
	sp := s.spoolOf(id)
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.failed != nil || p.Bundle < sp.bundle {
		return
	}
	if p.Bundle > sp.bundle {
		s.begin(id, sp, p.Bundle)
	}
	if sp.torn || p.Offset > sp.length {
		sp.torn = true // a part is missing
		return
	}
	if err := s.add(id, sp, p); err != nil {
		sp.failed = err
		s.log.Warn("the watcher stops keeping the session of a run", "sandbox", id, "error", err)
		_ = s.dir.Remove(partName(id, p.Bundle))
	}
}

// spoolOf returns the spool of a sandbox. If the sandbox spoke to an earlier watcher, the files tell how far it came.
func (s *Store) spoolOf(id sandbox.SandboxID) *spool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.spools[id]
	if sp == nil {
		sp = &spool{}
		if _, err := s.dir.Stat(noteName(id)); err != nil {
			sp.failed = fmt.Errorf("there is no note of the run: %w", err)
		}
		s.spools[id] = sp
	}
	return sp
}

// begin starts another bundle. The parts of an earlier one are useless now, so begin removes them.
func (s *Store) begin(id sandbox.SandboxID, sp *spool, bundle int) {
	if sp.bundle > 0 {
		_ = s.dir.Remove(partName(id, sp.bundle))
	}
	sp.bundle, sp.length, sp.torn = bundle, 0, false
	if info, err := s.dir.Stat(partName(id, bundle)); err == nil {
		sp.length = info.Size()
	}
}

// add writes a part. With the last part the bundle is whole and replaces an earlier whole bundle.
func (s *Store) add(id sandbox.SandboxID, sp *spool, p agent.Part) error {
	if sp.taken += int64(len(p.Data)); sp.taken > maxTaken {
		return errTooMuch
	}
	name := partName(id, p.Bundle)
	file, err := s.dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(p.Data, p.Offset)
	end := p.Offset + int64(len(p.Data))
	if err == nil && p.Last {
		err = seal(file, end, p.Version)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	sp.length = max(sp.length, end)
	if !p.Last {
		return nil
	}
	sp.torn = true // ignore more parts: a bundle ends once
	return s.dir.Rename(name, wholeName(id))
}

// reasonAbsent explains why a sandbox has no whole bundle. It returns nil if its agent has sent none.
func (s *Store) reasonAbsent(id sandbox.SandboxID) error {
	s.mu.Lock()
	sp := s.spools[id]
	s.mu.Unlock()
	if sp == nil {
		return nil
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	switch {
	case sp.bundle == 0 && sp.failed == nil:
		return nil
	case sp.failed != nil:
		return sp.failed
	}
	return errTorn
}

// drop removes a sandbox's files.
func (s *Store) drop(id sandbox.SandboxID) error {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return nil // no file has such a name
	}
	s.mu.Lock()
	sp := s.spools[id]
	delete(s.spools, id)
	s.mu.Unlock()
	names := []string{wholeName(id), newName(id), noteName(id)}
	if sp != nil {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		names = append(names, partName(id, max(1, sp.bundle)))
	}
	var errs []error
	for _, name := range names {
		if err := s.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
