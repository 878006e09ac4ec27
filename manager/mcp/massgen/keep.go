package massgen

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/internal/massgen/remains"
	"torno/manager"
	"torno/manager/massgen/carry"
	"torno/manager/mcp"
)

// logName is the name of a log of MassGen's. It is the child's word, and becomes part of a path that the model reads.
var logName = regexp.MustCompile(`^log_[A-Za-z0-9_.-]{1,64}$`)

const (
	childLogs = ".massgen/massgen_logs"
	attempt   = "turn_1/attempt_1"
)

// statusFile is where the status of a child is while it works, where logs are kept.
func (h *home) statusFile(id delegation.SubagentID) string {
	if h.settings.Logs == "" {
		return ""
	}
	return filepath.Join(h.settings.Logs, "subagents", id.String(), "full_logs", "status.json")
}

// eventsPath is the first of the places for a child's events at which there is a file, "" where there is none.
func (h *home) eventsPath(id delegation.SubagentID) (path string) {
	_ = h.withLogs(id, func(logs *os.Root) error {
		for _, name := range []string{"full_logs/events.jsonl", "full_logs/turn_1/attempt_1/events.jsonl"} {
			if f, _, err := beneath.OpenFile(logs, name); err == nil {
				path = filepath.Join(h.settings.Logs, "subagents", id.String(), name)
				return f.Close()
			}
		}
		return nil
	})
	return path
}

// leftOut is what the copy of a workspace in the logs is without.
var leftOut = []string{".massgen", "node_modules", ".pnpm-store", "__pycache__"}

// keepTime bounds how long a call is busy with logs.
const keepTime = 3 * time.Second

// keepLogs copies what MassGen keeps of a child's run into the logs, where logs are kept. What cannot be copied is noted beside it.
func (h *home) keepLogs(id string, k kid, s shown, result manager.Result, work *os.Root) error {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return err
	}
	return h.withLogs(subagent, func(logs *os.Root) error {
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		err := errors.New("there is no workspace")
		if work != nil {
			err = errors.Join(keepFullLogs(ctx, work, logs), keepWorkspace(ctx, work, logs), makeFinal(ctx, work, logs, result.Workspace, s.Answer))
		}
		note := subprocessLogs{SubagentID: id, Directory: filepath.Join(result.Workspace, childLogs), Timestamp: stamp(time.Now())}
		if err != nil {
			note.Error = mcp.Words(err.Error())
		}
		return errors.Join(putJSON(logs, "subprocess_logs.json", note), putJSON(logs, "conversation.json", conversation(k, s)))
	})
}

// keepFullLogs copies the newest log of a MassGen child. A child of another kind has none.
func keepFullLogs(ctx context.Context, work, logs *os.Root) error {
	newest, err := newestLog(work)
	if err != nil || newest == "" {
		return err
	}
	from, err := beneath.Dir(work, filepath.Join(childLogs, newest, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	return keepTree(ctx, from, logs, "full_logs")
}

// makeFinal makes the final answer of a MassGen child that has left none in its log: that of the agent to which its status points, and what
// that agent has worked on.
func makeFinal(ctx context.Context, work, logs *os.Root, path string, answer *string) error {
	agent, worked, ok := remains.Places{Log: logs, WorkspacePath: path}.Author()
	if !ok || answer == nil {
		return nil
	}
	if _, err := logs.Lstat("full_logs/final"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	final := filepath.Join("full_logs", "final", agent)
	if err := carry.Put(logs, filepath.Join(final, "answer.txt"), []byte(*answer)); err != nil || worked == "" {
		return err
	}
	from, err := beneath.Dir(work, worked)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := beneath.Dir(logs, final)
	if err != nil {
		return err
	}
	defer to.Close()
	return keepTree(ctx, from, to, "workspace", leftOut...)
}

func keepWorkspace(ctx context.Context, work, logs *os.Root) error {
	return keepTree(ctx, work, logs, "workspace", leftOut...)
}

// keepTree copies a directory to a name in the logs. A copy of an earlier run goes.
func keepTree(ctx context.Context, from, logs *os.Root, name string, without ...string) error {
	if err := logs.RemoveAll(name); err != nil {
		return err
	}
	if err := logs.Mkdir(name, 0o755); err != nil {
		return err
	}
	to, err := beneath.Step(logs, name)
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = carry.Tree(ctx, from, to, carry.DefaultLimits, without...)
	return err
}

// newestLog is the name of the newest log of a child, "" where there is none.
func newestLog(work *os.Root) (newest string, err error) {
	dir, err := beneath.Dir(work, childLogs)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", err
	}
	defer dir.Close()
	held, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	defer held.Close()
	entries, err := held.ReadDir(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	at := time.Time{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !logName.MatchString(entry.Name()) {
			continue
		}
		if newest == "" || info.ModTime().After(at) || info.ModTime().Equal(at) && entry.Name() > newest {
			newest, at = entry.Name(), info.ModTime()
		}
	}
	return newest, nil
}

// subprocessLogs is subprocess_logs.json.
type subprocessLogs struct {
	SubagentID string `json:"subagent_id"`
	Directory  string `json:"subprocess_log_dir"`
	Timestamp  string `json:"timestamp"`
	Error      string `json:"error,omitempty"`
}

// said is one entry of conversation.json.
type said struct {
	Timestamp string `json:"timestamp"`
	Role      string `json:"role"`
	Content   string `json:"content"`
	AgentID   string `json:"agent_id,omitempty"`
}

// conversation is what the parent has asked, and the child's last word as it was shown.
func conversation(k kid, s shown) []said {
	all := []said{{stamp(k.began), "user", k.task, ""}}
	if s.Answer != nil {
		all = append(all, said{stamp(time.Now()), "assistant", *s.Answer, s.SubagentID})
	}
	return all
}

func putJSON(dir *os.Root, name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return carry.Put(dir, name, data)
}
