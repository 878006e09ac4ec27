package session

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// Record describes a session. The host writes it; only AgentVersion is the child's word.
type Record struct {
	Version      int               `json:"torno_session"` // the version of this format
	ID           string            `json:"session_id"`
	Outbox       string            `json:"outbox_id"`
	Subagent     string            `json:"subagent_id"`
	Agent        string            `json:"agent"`
	AgentVersion string            `json:"agent_version,omitempty"`
	Profile      string            `json:"profile"`
	Sandbox      sandbox.SandboxID `json:"sandbox"` // the sandbox that kept the session
	Began        time.Time         `json:"began_at"`
	Kept         time.Time         `json:"kept_at"`
	Runs         int               `json:"runs"` // runs that took part in the session
	Size         int64             `json:"size"` // of the bundle
	SHA256       string            `json:"sha256,omitempty"`
}

// recordVersion is the version of a session file's format: a line of JSON, then the bundle.
const recordVersion = 1

// maxRecord bounds the line's length.
const maxRecord = 16 << 10

const (
	suffix   = ".session"
	incoming = "incoming"
)

// fileName returns the name of a subagent's session file. The name begins with a hash of the outbox, so that each
// outbox's sessions can be counted.
func fileName(outbox string, id delegation.SubagentID) string {
	whose := sha256.Sum256([]byte(outbox))
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s,%s", len(outbox), outbox, id))
	return hex.EncodeToString(whose[:8]) + "-" + hex.EncodeToString(sum[:16]) + suffix
}

// outboxOf returns the part of a session's name that all sessions of its outbox share.
func outboxOf(name string) string {
	whose, _, _ := strings.Cut(name, "-")
	return whose
}

// newID returns the id of a session that begins with a run. It is the same for every attempt.
func newID(key sandbox.RunKey) string {
	key.Attempt = 1
	return "session-" + key.Hash()
}

// open opens a session's file and reads its line. The returned bundle then yields at most as many bytes as the record
// says.
func open(dir *os.Root, name string) (r Record, bundle io.ReadCloser, err error) {
	file, err := dir.Open(name)
	if err != nil {
		return r, nil, err
	}
	buffered := bufio.NewReaderSize(file, maxRecord)
	line, err := buffered.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil && (r.Version != recordVersion || r.Size <= 0 || r.Size > agent.MaxBundle) {
		err = errors.New("this watcher does not know its format")
	}
	if err != nil {
		return Record{}, nil, errors.Join(fmt.Errorf("the session %s cannot be read: %w", name, err), file.Close())
	}
	return r, struct {
		io.Reader
		io.Closer
	}{io.LimitReader(buffered, r.Size), file}, nil
}

// List returns the sessions in a state directory, the newest first. It needs no watcher.
func List(state string) ([]Record, error) {
	dir, err := openDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	kept, err := list(dir)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, k := range kept {
		r, bundle, err := open(dir, k.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a later session has replaced it, or it was pruned
		}
		if err != nil {
			return all, err
		}
		_ = bundle.Close()
		all = append(all, r)
	}
	return all, nil
}

// ErrNone means that there is no such session.
var ErrNone = errors.New("no such session is kept")

// Export writes the bundle of a session.
func Export(state, id string, to io.Writer) (Record, error) {
	dir, name, err := find(state, id)
	if err != nil {
		return Record{}, err
	}
	defer dir.Close()
	r, bundle, err := open(dir, name)
	if err != nil {
		return r, err
	}
	defer bundle.Close()
	n, err := io.Copy(to, bundle)
	if err == nil && n != r.Size {
		err = io.ErrUnexpectedEOF
	}
	return r, err
}

// Remove removes a session.
func Remove(state, id string) error {
	dir, name, err := find(state, id)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(name)
}

// find finds the file of a session by its id.
func find(state, id string) (*os.Root, string, error) {
	dir, err := openDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: %w", id, ErrNone)
	}
	if err != nil {
		return nil, "", err
	}
	kept, err := list(dir)
	for _, k := range kept {
		r, bundle, err := open(dir, k.Name)
		if err != nil {
			continue // an unreadable session must not hide the others
		}
		_ = bundle.Close()
		if r.ID == id {
			return dir, k.Name, nil
		}
	}
	return nil, "", errors.Join(err, fmt.Errorf("%s: %w", id, ErrNone), dir.Close())
}

// isSession reports whether a file of the store is a session.
func isSession(name string) bool { return strings.HasSuffix(name, suffix) }
