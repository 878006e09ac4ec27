package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/atomicfile"
	"torno/internal/crash"
	"torno/sandbox"
	"torno/watcher/run"
)

// Name is the store's directory in a state directory.
const Name = "sessions"

// Bounds limits how much is kept.
type Bounds struct {
	Age    time.Duration // since the session was kept; 0 for any age
	Number int
	Bytes  int64
}

// Usual contains the usual bounds, without an age.
var Usual = Bounds{Number: 1000, Bytes: 1 << 30}

// Store keeps sessions. It is a run.Resource.
type Store struct {
	dir    *os.Root
	bounds Bounds
	now    func() time.Time
	log    *slog.Logger
	left   []string // files that sandboxes of earlier watchers have left

	keeping sync.Mutex // only one session at a time replaces an earlier one

	mu     sync.Mutex
	spools map[sandbox.SandboxID]*spool // by the sandboxes that have sent something to this watcher
}

// makeDir makes the store's directories. Only the watcher's user can exchange the contents of the state directory.
func makeDir(state string) error {
	root, err := os.OpenRoot(state)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.MkdirAll(filepath.Join(Name, incoming), 0o700)
}

// Open opens the store of a state directory, and makes it if it is missing. now tells the time by which sessions age.
func Open(state string, b Bounds, now func() time.Time, log *slog.Logger) (*Store, error) {
	if err := makeDir(state); err != nil {
		return nil, fmt.Errorf("make the directory for sessions: %w", err)
	}
	dir, err := openDir(state)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, bounds: b, now: now, log: log, spools: map[sandbox.SandboxID]*spool{}}
	entries, err := fs.ReadDir(dir.FS(), incoming)
	for _, e := range entries {
		s.left = append(s.left, e.Name())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the directory for sessions: %w", err), dir.Close())
	}
	return s, nil
}

func openDir(state string) (*os.Root, error) { return os.OpenRoot(filepath.Join(state, Name)) }

// Close closes the store.
func (s *Store) Close() error { return s.dir.Close() }

// note holds the host's knowledge of a run whose session may be kept. It is on the disk before the sandbox is made,
// because the next watcher may need it.
type note struct {
	ID       string
	Outbox   string
	Subagent delegation.SubagentID
	Agent    string
	Profile  string
	Began    time.Time
	Runs     int
}

// Refuse explains why a request cannot continue a session; it returns nil if the request can.
func (s *Store) Refuse(outbox string, id delegation.SubagentID, p sandbox.Process) *delegation.Refusal {
	if p.Session == "" {
		return nil
	}
	_, bundle, refusal := s.find(outbox, id, p)
	if refusal == nil {
		_ = bundle.Close()
	}
	return refusal
}

// Keeps reports whether a session of the subagent is kept. If that cannot be found out, it returns true.
func (s *Store) Keeps(outbox string, id delegation.SubagentID) bool {
	_, err := s.dir.Stat(fileName(outbox, id))
	return !errors.Is(err, fs.ErrNotExist)
}

// Ready implements run.Resource.
func (s *Store) Ready(context.Context, run.Holder) error { return nil }

// Acquire implements run.Resource.
func (s *Store) Acquire(_ context.Context, h *run.Holder) error {
	process := h.Spec.Process
	if process.Agent == "" {
		return nil
	}
	n := note{
		ID: newID(h.Key), Outbox: h.Key.Outbox, Subagent: h.Key.Subagent, Agent: process.Agent, Profile: h.Spec.Profile,
		Began: time.Now().UTC(), Runs: 1,
	}
	if process.Session != "" {
		r, content, refusal := s.read(h.Key, process)
		if refusal != nil {
			return refusal
		}
		n.ID, n.Began, n.Runs = r.ID, r.Began, r.Runs+1
		h.Spec.Files = append(slices.Clone(h.Spec.Files), sandbox.File{Name: sandbox.SessionFile, Content: content})
	}
	data, err := json.Marshal(n)
	if err == nil {
		err = s.writeNote(h.Sandbox, data)
	}
	if err != nil {
		s.log.Warn("the watcher will not keep the session of a run", "sandbox", h.Sandbox, "error", err)
	}
	return nil
}

// read returns the session that a run continues.
func (s *Store) read(key sandbox.RunKey, p sandbox.Process) (Record, []byte, *delegation.Refusal) {
	r, bundle, refusal := s.find(key.Outbox, key.Subagent, p)
	if refusal != nil {
		return r, nil, refusal
	}
	defer bundle.Close()
	sum := sha256.New()
	content, err := io.ReadAll(io.TeeReader(bundle, sum))
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != r.SHA256 {
		err = errors.New("its content is not the content that was kept")
	}
	if err != nil {
		return r, nil, unreadable(key.Subagent, err)
	}
	return r, content, nil
}

// find finds the session that a request names.
func (s *Store) find(outbox string, id delegation.SubagentID, p sandbox.Process) (Record, io.ReadCloser, *delegation.Refusal) {
	r, bundle, err := open(s.dir, fileName(outbox, id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil, refuse("No session of subagent %s is kept: it never had one, or it was too old, or there were too many", "ask without session_id: the workspace is still there", id)
	case err != nil:
		return r, nil, unreadable(id, err)
	}
	refusal := other(r, p)
	if r.Outbox != outbox || r.Subagent != id.String() {
		refusal = refuse("The session that is kept for subagent %s belongs to another subagent", "ask without session_id, and tell the operator", id)
	}
	if refusal != nil {
		_ = bundle.Close()
		return r, nil, refusal
	}
	return r, bundle, nil
}

// other explains why a process may not continue this session; it returns nil if the process may.
func other(r Record, p sandbox.Process) *delegation.Refusal {
	if p.Session != delegation.SessionLast && p.Session != r.ID {
		return refuse("The session %s is gone: a later one of the same subagent took its place", "the session that is kept is "+r.ID+"; \"last\" names it too", p.Session)
	}
	if p.Agent != r.Agent {
		return refuse("The session is a session of %s, and the profile's agent is %s", "name a profile with that agent; the session was kept with the profile "+r.Profile, r.Agent, p.Agent)
	}
	return nil
}

func unreadable(id delegation.SubagentID, err error) *delegation.Refusal {
	return refuse("The session of subagent %s cannot be read: %v", "ask without session_id, and tell the operator", id, err)
}

func refuse(format, hint string, args ...any) *delegation.Refusal {
	return &delegation.Refusal{Code: delegation.CodeSession, Field: "session_id", Text: fmt.Sprintf(format, args...) + ".", Hint: hint}
}

// Attested implements run.Resource.
func (s *Store) Attested(context.Context, run.Holder, sandbox.Attestation) error { return nil }

// End implements run.Resource.
func (s *Store) End(_ context.Context, h run.Holder) (run.Used, error) {
	if h.Sandbox == "" {
		return run.Used{}, nil
	}
	id, err := s.keep(h.Sandbox)
	if err != nil {
		s.log.Warn("the session of a run was not kept", "subagent", h.Key.Subagent, "sandbox", h.Sandbox, "error", err)
		return run.Used{Warnings: []string{"The agent's session was not kept: " + err.Error() + ". An earlier session, if there is one, stays."}}, nil
	}
	return run.Used{Session: id}, nil
}

// Release implements run.Resource. A lost run has no End; Release keeps the last whole bundle that the run sent.
func (s *Store) Release(_ context.Context, id sandbox.SandboxID) error {
	_, err := s.keep(id)
	if errors.Is(err, errTorn) {
		err = nil
	}
	return errors.Join(err, s.drop(id))
}

// errTorn means that no bundle of the agent's session has arrived whole.
var errTorn = errors.New("no complete bundle of it arrived")

// keep puts the last whole bundle of a sandbox in the place of its subagent's session, and returns the session's id, or
// "" if there is no session. It may be called again.
func (s *Store) keep(id sandbox.SandboxID) (string, error) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	n, err := s.said(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil // the run has no session, or its files are already removed
	case err != nil:
		return "", err
	}
	name := fileName(n.Outbox, n.Subagent)
	if r, bundle, err := open(s.dir, name); err == nil {
		_ = bundle.Close()
		if r.Sandbox == id {
			return r.ID, s.done(id)
		}
	}
	sealed, err := s.dir.ReadFile(wholeName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return "", s.reasonAbsent(id)
	}
	bundle, version, ok := unseal(sealed)
	if err != nil || !ok || len(bundle) > agent.MaxBundle {
		return "", cmp.Or(err, errTorn)
	}
	sum := sha256.Sum256(bundle)
	r := Record{
		Version: recordVersion, ID: n.ID, Outbox: n.Outbox, Subagent: n.Subagent.String(), Agent: n.Agent, AgentVersion: version, Profile: n.Profile,
		Sandbox: id, Began: n.Began, Kept: s.now().UTC(), Runs: n.Runs, Size: int64(len(bundle)), SHA256: hex.EncodeToString(sum[:]),
	}
	if err := s.replace(name, r, bundle); err != nil {
		return "", err
	}
	s.prune(name)
	return r.ID, s.done(id)
}

// done removes a bundle that was kept, so that it cannot replace a later one.
func (s *Store) done(id sandbox.SandboxID) error {
	err := s.dir.Remove(wholeName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replace writes a session in the place of an earlier one. When it returns, the session is whole and on the disk.
func (s *Store) replace(name string, r Record, bundle []byte) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := newName(r.Sandbox) // this name is not swept with the files of earlier watchers
	if err := writeFile(s.dir, temp, slices.Concat(line, []byte("\n"), bundle)); err != nil {
		return err
	}
	// prune compares this file time with the believed time of day; the kernel would take it from a clock that may be
	// wrong.
	if err := s.dir.Chtimes(temp, time.Time{}, r.Kept); err != nil {
		return err
	}
	crash.At("session.kept")
	if err := s.dir.Rename(temp, name); err != nil {
		return err
	}
	return atomicfile.SyncRoot(s.dir)
}

// writeFile writes a file that is on the disk when writeFile returns.
func writeFile(dir *os.Root, name string, data []byte) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}
