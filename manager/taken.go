package manager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

// TakenDir is the directory of the outbox with copies of taken results. It lies in the outbox because nothing else is
// sure to outlive the process. It is the client's own; the host does not touch it.
const TakenDir = "taken"

// The limits of an outbox's copies. The oldest go first.
const (
	maxTakenAge    = 24 * time.Hour
	maxTakenFiles  = 256
	maxTakenBytes  = 64 << 20
	maxTakenAnswer = 1 << 20  // bytes of one answer
	maxTakenCopy   = 16 << 20 // bytes of one copy, whose JSON may be several times as long as the result
)

// takenCopy is a result as it is stored. A child's text need not be UTF-8, so the answer is bytes.
type takenCopy struct {
	Version int
	Result
	Answer    []byte
	AnswerErr string
	ErrorText string
}

// Acknowledge tells the manager that the caller has stored or delivered the result of Wait. From here on the result is
// taken. Acknowledge keeps a copy for a day, but only the last one of each subagent (see Taken), and removes the run's
// files from the outbox. If that fails the result stays, and a later Wait returns it again. It also stays if the answer
// may be where this process cannot look (see Result.WithoutAnswer).
func (r *Run) Acknowledge(result Result) error {
	if result.SubagentID != r.ID() || result.RequestID != r.RequestID() {
		return fmt.Errorf("acknowledge %s: the result belongs to another run", r.id)
	}
	switch err := r.checkCurrent(); {
	case isOver(err): // remove does what is left to do
	case err != nil:
		return err
	case errors.Is(result.AnswerErr, ErrNotSeen):
		return fmt.Errorf("%w; next: wait for %s where %s is, or do without its answer: subagent wait --no-answer %s", ErrNotSeen, r.id, r.workspace, r.id)
	default:
		if err := r.m.saveCopy(result); err != nil {
			return fmt.Errorf("keep a copy of the result of %s: %w", r.id, err)
		}
	}
	if err := r.remove(); !isOver(err) {
		return err
	}
	return nil
}

// Taken reads the copy of a subagent's last taken result. If there is none, the error is ErrNoRun.
func (m *Manager) Taken(id string) (Result, error) {
	subagent, err := parseID(id)
	if err != nil {
		return Result{}, err
	}
	result, err := m.copyOf(subagent)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, fmt.Errorf("no result of %s is kept in %s: %w", id, m.Outbox(), ErrNoRun)
	}
	if err != nil {
		return Result{}, fmt.Errorf("the kept result of %s: %w", id, err)
	}
	return result, nil
}

// taken turns the error of a run that does not exist into an error that says when its result was taken, if it was
// taken. request is the id of the request that the caller waited for, or "" for any.
func (m *Manager) taken(id delegation.SubagentID, request string, err error) error {
	result, missing := m.copyOf(id)
	if missing != nil || request != "" && result.RequestID != request {
		return err
	}
	return &TakenError{SubagentID: id.String(), At: result.TakenAt, Workspace: result.Workspace, cause: err}
}

// makeTaken opens the directory of the copies, and makes it if it is missing.
func (m *Manager) makeTaken() (*os.Root, error) {
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, _, err := m.makeDir(root, TakenDir, 0o700)
	return dir, err
}

func takenName(id delegation.SubagentID) string { return id.String() + ".json" }

func (m *Manager) copyOf(id delegation.SubagentID) (Result, error) {
	root, err := m.root()
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	dir, err := beneath.Step(root, TakenDir)
	if err != nil {
		return Result{}, err
	}
	defer dir.Close()
	data, more, err := beneath.ReadFile(dir, takenName(id), maxTakenCopy)
	if err != nil {
		return Result{}, err
	}
	var kept takenCopy
	if err := json.Unmarshal(data, &kept); err != nil || more {
		return Result{}, fmt.Errorf("%s is not a copy of a result: %w", takenName(id), errors.Join(err, delegation.ErrTooBig))
	}
	if kept.Version != 1 || kept.SubagentID != id.String() {
		return Result{}, fmt.Errorf("%s is the copy of another result", takenName(id))
	}
	return kept.result(), nil
}

func (k takenCopy) result() Result {
	r := k.Result
	r.Answer = string(k.Answer)
	if k.AnswerErr != "" {
		r.AnswerErr = errors.New(k.AnswerErr)
	}
	if r.Error != nil {
		r.Error.Text = k.ErrorText
	}
	return r
}

// encodeTaken encodes the copy of a result. It cuts off the end of a very long answer and marks the copy as truncated.
func encodeTaken(r Result) ([]byte, error) {
	kept := takenCopy{Version: 1, Result: r, Answer: []byte(r.Answer)}
	if len(kept.Answer) > maxTakenAnswer {
		kept.Answer, kept.AnswerTruncated = kept.Answer[:maxTakenAnswer], true
	}
	if r.AnswerErr != nil {
		kept.AnswerErr = r.AnswerErr.Error()
	}
	if r.Error != nil {
		kept.ErrorText = r.Error.Text
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(kept); err != nil {
		return nil, err
	}
	if text.Len() > maxTakenCopy {
		return nil, delegation.ErrTooBig
	}
	return text.Bytes(), nil
}

// saveCopy makes room for the copy of a result, and then writes the copy.
func (m *Manager) saveCopy(r Result) error {
	r.TakenAt = time.Now().UTC()
	id, err := delegation.ParseSubagentID(r.SubagentID)
	if err != nil {
		return err
	}
	data, err := encodeTaken(r)
	if err != nil {
		return err
	}
	dir, err := m.makeTaken()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := pruneCopies(dir, int64(len(data))); err != nil {
		return err
	}
	return m.replaceFile(dir, takenName(id), data)
}

// replaceFile writes a file whole, by rename, over anything that has its name. It gives the file to the outbox's owner,
// who also owns the directory, if it may, so that each client of the outbox can read it.
func (m *Manager) replaceFile(dir *os.Root, name string, data []byte) error {
	draft, err := atomicfile.BeginIn(dir, ".", 0o600)
	if err != nil {
		return err
	}
	_, err = draft.Write(data)
	uid, gid := m.dir.Owner()
	if chown := draft.Chown(int(uid), int(gid)); !errors.Is(chown, fs.ErrPermission) {
		err = errors.Join(err, chown)
	}
	if err == nil {
		err = draft.Put(name, atomicfile.Fast)
	}
	return errors.Join(err, draft.Drop())
}

// pruneCopies removes copies that are older than a day, and then the oldest until there is room for one more of the
// given size. It treats other files alike, such as the temporary file of a client that was killed.
func pruneCopies(dir *os.Root, size int64) error {
	listing, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer listing.Close()
	entries, err := listing.ReadDir(-1)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !info.IsDir() {
			all = append(all, info)
			size += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for i, info := range all {
		left := len(all) - i
		if time.Since(info.ModTime()) < maxTakenAge && left < maxTakenFiles && size <= maxTakenBytes {
			break
		}
		if err := dir.Remove(info.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= info.Size()
	}
	return nil
}
