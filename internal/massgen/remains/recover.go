package remains

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/internal/beneath"
)

// Saved holds the remains of a run that did not come to its end.
type Saved struct {
	Answer     *string // nil if there is none
	Winner     string
	Phase      string // in the child's own words
	Presenting bool   // the child was in its last phase
	Percentage *int
	Usage      TokenUsage
}

// TokenUsage counts the tokens and the cost of a child's models.
type TokenUsage struct {
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"estimated_cost"`
}

// Places names the directories where a child may have left something.
type Places struct {
	Log           *os.Root // {logs}/subagents/{id}, or nil
	Workspace     *os.Root
	WorkspacePath string    // the workspace's path as the child sees it
	Since         time.Time // an answer written before this time belongs to another run
}

// These constants bound how much is read.
const (
	MaxStatus  = 4 << 20
	maxAnswer  = 1 << 20
	maxEntries = 4096 // per directory
)

// Read returns the contents of a status file; it does not look for an answer. ok is false if the file is malformed.
func Read(status []byte) (saved Saved, ok bool) {
	read, ok := parseStatus(status)
	if !ok {
		return Saved{}, false
	}
	return read.saved(), true
}

// Recover looks for the status and the answer of a child, in MassGen's order. It treats unreadable files as missing.
func Recover(p Places) Saved {
	status, known := p.status()
	var saved Saved
	if known {
		saved = status.saved()
	}
	saved.Answer = p.answer(status)
	return saved
}

// Author returns the agent whose answer the child's status points to, and the directory where that agent worked,
// beneath the child's workspace. workspace is "" if the directory is not beneath it.
func (p Places) Author() (agent, workspace string, ok bool) {
	status, _ := p.status()
	chosen, ok := status.pick()
	if !ok || !isName(chosen.AgentID) {
		return "", "", false
	}
	rel, err := p.beneath(chosen.Workspace)
	if err != nil {
		rel = ""
	}
	return chosen.AgentID, rel, true
}

// status returns the first readable status file.
func (p Places) status() (statusFile, bool) {
	const logs = ".massgen/massgen_logs"
	for _, place := range []struct {
		root *os.Root
		name string
	}{{p.Log, "full_logs/status.json"}, {p.Workspace, "full_logs/status.json"}, {p.Workspace, p.newestLog(logs)}} {
		if place.root == nil || place.name == "" {
			continue
		}
		data, more, err := beneath.ReadFile(place.root, filepath.FromSlash(place.name), MaxStatus)
		if err != nil || more {
			continue
		}
		if status, ok := parseStatus(data); ok {
			return status, true
		}
	}
	return statusFile{}, false
}

// newestLog returns the path of the status file in the newest of MassGen's own logs, or "".
func (p Places) newestLog(logs string) string {
	if p.Workspace == nil {
		return ""
	}
	dir, err := beneath.Dir(p.Workspace, filepath.FromSlash(logs))
	if err != nil {
		return ""
	}
	defer dir.Close()
	held, err := dir.Open(".")
	if err != nil {
		return ""
	}
	defer held.Close()
	entries, err := held.ReadDir(maxEntries)
	if err != nil {
		return ""
	}
	newest, at := "", time.Time{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), "log_") {
			continue
		}
		if newest == "" || info.ModTime().After(at) || info.ModTime().Equal(at) && entry.Name() > newest {
			newest, at = entry.Name(), info.ModTime()
		}
	}
	if newest == "" {
		return ""
	}
	return path.Join(logs, newest, "turn_1/attempt_1/status.json")
}

// answer returns the first answer that it finds. It looks first for the child's own answer file: in the log's copy of
// the workspace, then in the workspace. After that it tries the agent's answer that the status points to.
func (p Places) answer(status statusFile) *string {
	for _, at := range []struct {
		root *os.Root
		name string
	}{{p.Log, "workspace/answer.txt"}, {p.Workspace, "answer.txt"}} {
		if answer := p.read(at.root, at.name); answer != nil {
			return answer
		}
	}
	chosen, ok := status.pick()
	if !ok {
		return nil
	}
	if isName(chosen.AgentID) && isName(chosen.Timestamp) {
		name := path.Join("full_logs", chosen.AgentID, chosen.Timestamp, "answer.txt")
		for _, root := range []*os.Root{p.Log, p.Workspace} {
			if answer := p.read(root, name); answer != nil {
				return answer
			}
		}
	}
	return p.besideWorkspace(chosen.Workspace)
}

// besideWorkspace looks for an answer at the workspace of one of the child's agents: beside it, then in it.
func (p Places) besideWorkspace(agent string) *string {
	rel, err := p.beneath(agent)
	if err != nil {
		return nil
	}
	for _, name := range []string{"../answer.txt", "../answer.md", "answer.md", "answer.txt", "response.md", "response.txt"} {
		if answer := p.read(p.Workspace, filepath.Join(rel, name)); answer != nil {
			return answer
		}
	}
	return nil
}

// beneath returns a path of the child's relative to the child's workspace, or an error if the path leads elsewhere.
func (p Places) beneath(path string) (string, error) {
	rel, err := filepath.Rel(p.WorkspacePath, path)
	if err != nil || !filepath.IsAbs(path) || !filepath.IsLocal(rel) || rel == "." {
		return "", fmt.Errorf("%q is not below the workspace", path)
	}
	return rel, nil
}

// read returns the text of a file, or nil if the text is blank or was written before this run.
func (p Places) read(root *os.Root, name string) *string {
	if root == nil {
		return nil
	}
	f, seen, err := beneath.OpenFile(root, filepath.FromSlash(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _, err := beneath.ReadUpTo(f, maxAnswer)
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	if err != nil || text == "" || seen.ModTime().Before(p.Since) {
		return nil
	}
	return &text
}

// isName reports whether a text from the child is a single name and not a path.
func isName(text string) bool {
	return filepath.IsLocal(text) && text != "." && !slices.Contains([]byte(text), '/') && !strings.ContainsAny(text, "\\\x00")
}
