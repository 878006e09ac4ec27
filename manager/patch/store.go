package patch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/internal/atomicfile"
	"torno/internal/inode"
)

// ErrNoBase says that nothing is known about a child's base.
var ErrNoBase = errors.New("the child's workspace is not a copy, or the record of the copy is gone")

// ErrNoPlace says that this user cannot write to any place of the parent's own.
var ErrNoPlace = errors.New("there is no place for the client's own files")

// Store keeps the bases of an outbox's children, in a directory of the parent's own. For each child it holds the record
// of the copy (base.json), the text of the copied files (base.text), the record of its requests (asked.json) and, while
// an apply is under way, its marker (applying-DIGEST.json).
type Store struct {
	outbox string
	path   string
	root   *os.Root
	own    Own

	patience time.Duration // with git, when it tells which paths it ignores
}

// StateDir returns the directory for everything that only the parent may write: $XDG_STATE_HOME/torno, or
// ~/.local/state/torno.
func StateDir(env func(string) string) (string, error) {
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "torno"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "torno"), nil
	}
	return "", fmt.Errorf("%w: neither XDG_STATE_HOME nor HOME is set", ErrNoPlace)
}

// OpenStore opens the store of an outbox, and makes it if it does not exist. The store must not lie in the outbox,
// because others may write there.
func OpenStore(state, outbox string) (*Store, error) {
	path := ownPath(state, outbox, "subagents")
	root, err := OpenOwn(state, outbox, "subagents")
	if err != nil {
		return nil, err
	}
	s := &Store{outbox: outbox, path: path, root: root, own: OwnOf(state, outbox), patience: gitPatience}
	s.sweep()
	return s, nil
}

// OpenOwn opens a directory of the parent's own for an outbox, and makes it if it does not exist. The directory must
// not lie in the outbox, because others may write there.
func OpenOwn(state, outbox, name string) (*os.Root, error) {
	path := ownPath(state, outbox, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPlace, err)
	}
	if err := apart(path, outbox); errors.Is(err, errInOutbox) {
		return nil, fmt.Errorf("%w: set XDG_STATE_HOME to another place", err)
	} else if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPlace, err)
	}
	return root, nil
}

// ownPath returns the path of an outbox's own directory with that name.
func ownPath(state, outbox, name string) string {
	sum := sha256.Sum256([]byte(outbox))
	return filepath.Join(state, name, hex.EncodeToString(sum[:8]))
}

// errInOutbox says that a directory lies in the outbox, where others may write.
var errInOutbox = errors.New("it lies in the outbox, where others may write")

// apart refuses a directory that lies in the outbox, under whatever name.
func apart(path, outbox string) error {
	out, err := os.Stat(outbox)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, out) {
			return fmt.Errorf("%s: %w", path, errInOutbox)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Close closes the store.
func (s *Store) Close() error { return s.root.Close() }

// A client makes a copy or a diff in much less time than maxAlive. A killed client has left what is older.
const maxAlive = 24 * time.Hour

// sweep removes staged files that a killed client left behind.
func (s *Store) sweep() {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), stagePrefix) && time.Since(info.ModTime()) > maxAlive {
			_ = s.root.RemoveAll(e.Name()) // the next client tries again
		}
	}
}

// Base records the files that a child was given.
type Base struct {
	Version  int    `json:"version"`
	Subagent string `json:"subagent_id"`
	Outbox   string `json:"outbox"`
	Origin   string `json:"origin"`
	// OriginPlace identifies the directory at Origin itself.
	OriginPlace inode.Directory `json:"origin_place"`
	Workspace   string          `json:"workspace"`
	Place       inode.Directory `json:"place"`                // the workspace itself: another directory at its path was given nothing
	Repository  bool            `json:"repository,omitempty"` // a git repository was made in it
	Ignoring    bool            `json:"ignoring,omitempty"`   // paths that git ignores were not copied and are not taken over
	Answer      string          `json:"answer"`               // where in the workspace the answer will be
	MadeAt      time.Time       `json:"made_at"`
	Entries     []Entry         `json:"entries"`
	LeftOut     []string        `json:"left_out"`  // entries that existed and were not copied; the child's entries there are compared with nothing
	Texts       map[string]span `json:"texts"`     // by digest: where in base.text a content lies
	TextSize    int64           `json:"text_size"` // bytes of all of them, before they are compressed

	read  string // the digest of the file
	asked requests
}

const (
	baseVersion = 1
	baseName    = "base.json"
	maxBase     = 256 << 20
)

// isOf reports whether a directory is the workspace that was filled.
func (b *Base) isOf(workspace *os.Root) (bool, error) {
	place, err := identityOf(workspace)
	return err == nil && b.Place.Same(place), err
}

// LastAsked returns the child's last request, or "" if none was recorded.
func (b *Base) LastAsked() string { return b.asked.Last }

// leftOut returns why a path is refused because the copy left out the parent's entry there, or "".
func (b *Base) leftOut(p string) string {
	if slices.ContainsFunc(b.LeftOut, func(out string) bool { return within(p, out) }) {
		return leftOutFault
	}
	return ""
}

func (b *Base) tree() tree {
	t := make(tree, len(b.Entries))
	for i := range b.Entries {
		t[b.Entries[i].Path] = &b.Entries[i]
	}
	return t
}

// Base reads a child's base. If there is none, the error is ErrNoBase.
func (s *Store) Base(id string) (*Base, error) {
	data, err := s.readBase(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", id, ErrNoBase)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the copy of %s: %w", id, err)
	}
	b := &Base{}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("read the record of the copy of %s: %w", id, err)
	}
	if b.Version != baseVersion || b.Subagent != id {
		return nil, fmt.Errorf("the record of the copy of %s has another version (%d)", id, b.Version)
	}
	b.read = digestOf(data)
	dir, err := s.root.OpenRoot(id)
	if err != nil {
		return nil, fmt.Errorf("read the record of the copy of %s: %w", id, err)
	}
	defer dir.Close()
	if b.asked, err = readRequests(dir); err != nil {
		return nil, fmt.Errorf("read the record of the copy of %s: %w", id, err)
	}
	return b, nil
}

// readBase reads the file of a base.
func (s *Store) readBase(id string) ([]byte, error) {
	f, err := s.root.Open(filepath.Join(id, baseName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxBase {
		return nil, errors.Join(err, ErrTooMuch)
	}
	return io.ReadAll(io.LimitReader(f, maxBase))
}

// save writes a base whole.
func (s *Store) save(b *Base) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if len(data) > maxBase {
		return fmt.Errorf("%w: the record of the copy is larger than %d MiB", ErrTooMuch, maxBase>>20)
	}
	if err := s.replace(b.Subagent, baseName, data); err != nil {
		return err
	}
	b.read = digestOf(data)
	return nil
}

// replace writes one of a child's files whole.
func (s *Store) replace(id, name string, data []byte) error {
	dir, err := s.root.OpenRoot(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := atomicfile.WriteIn(dir, name, data, atomicfile.Durable); err != nil {
		return fmt.Errorf("write %s of %s: %w", name, id, err)
	}
	return nil
}

// Forget drops the base of a child whose new workspace is not a copy. It does not create a store.
func Forget(state, outbox, id string) error {
	return os.RemoveAll(filepath.Join(ownPath(state, outbox, "subagents"), id))
}

// Drop forgets the base of a child.
func (s *Store) Drop(id string) error { return s.root.RemoveAll(id) }

// Prune forgets the bases of children whose workspaces are gone, unless they are young: the client may be filling the
// workspace, which gets its name when it is whole.
func (s *Store) Prune() error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), ".") || time.Since(info.ModTime()) < maxAlive {
			continue
		}
		workspace := filepath.Join(s.outbox, "workspaces", e.Name())
		switch b, err := s.Base(e.Name()); {
		case err == nil:
			workspace = cmp.Or(b.Workspace, workspace)
		case !errors.Is(err, ErrNoBase):
			continue // it may belong to any workspace
		}
		if _, err := os.Lstat(workspace); errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, s.Drop(e.Name()))
		}
	}
	return all
}
