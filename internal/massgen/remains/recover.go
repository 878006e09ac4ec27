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

// Saved is what was found of a run that did not come to its end.
type Saved struct {
	Answer     *string // nil where there is none
	Winner     string
	Phase      string // as the child says it
	Presenting bool   // the child was in its last phase
	Percentage *int
	Usage      TokenUsage
}

// TokenUsage is what a child has spent at its models.
type TokenUsage struct {
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"estimated_cost"`
}

// Places is where a child may have left something.
type Places struct {
	Log           *os.Root // {logs}/subagents/{id}, or nil
	Workspace     *os.Root
	WorkspacePath string    // where the workspace is for the child
	Since         time.Time // an answer that was written before is another run's
}

// The bounds of what is read.
const (
	MaxStatus  = 4 << 20
	maxAnswer  = 1 << 20
	maxEntries = 4096 // of a directory
)

// Read is what a status file says, without an answer. A malformed file says nothing.
func Read(status []byte) (saved Saved, ok bool) {
	read, ok := parseStatus(status)
	if !ok {
		return Saved{}, false
	}
	return read.saved(), true
}

// Recover looks for the status and the answer of a child in MassGen's order. What cannot be read is not there.
func Recover(p Places) Saved {
	status, known := p.status()
	var saved Saved
	if known {
		saved = status.saved()
	}
	saved.Answer = p.answer(status)
	return saved
}

// Author is the agent to whose answer the status of a child points, and where it has worked, beneath the child's workspace; "" where that is
// not beneath it.
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

// status is the first status file that there is.
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

// newestLog is the status file of the newest of MassGen's own logs, or "".
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

// answer is the first answer that there is: the child's own answer file, in the log's copy of the workspace before the
// workspace, and then what the agent had given that the status points to.
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

// besideWorkspace is the answer at the workspace of one of the child's agents: beside it, or in it.
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

// beneath is where a path of the child's lies beneath its workspace.
func (p Places) beneath(path string) (string, error) {
	rel, err := filepath.Rel(p.WorkspacePath, path)
	if err != nil || !filepath.IsAbs(path) || !filepath.IsLocal(rel) || rel == "." {
		return "", fmt.Errorf("%q is not below the workspace", path)
	}
	return rel, nil
}

// read is a text that is not blank, of this run and not of an earlier one.
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

// isName says whether a text of the child's is one name and no path.
func isName(text string) bool {
	return filepath.IsLocal(text) && text != "." && !slices.Contains([]byte(text), '/') && !strings.ContainsAny(text, "\\\x00")
}
