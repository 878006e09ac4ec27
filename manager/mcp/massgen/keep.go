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
	"torno/manager/massgen/layout"
	"torno/manager/mcp"
)

// logName matches the name of a MassGen log. The child chose the name, and it becomes part of a path that the model
// reads.
var logName = regexp.MustCompile(`^log_[A-Za-z0-9_.-]{1,64}$`)

const (
	childLogs = ".massgen/massgen_logs"
	attempt   = "turn_1/attempt_1"
)

// statusFile returns the path of a child's status file while the child works, or "" if no logs are kept.
func (h *home) statusFile(id delegation.SubagentID) string {
	if h.settings.Logs == "" {
		return ""
	}
	return filepath.Join(h.settings.Logs, "subagents", id.String(), "full_logs", "status.json")
}

// eventsPath returns the first existing file with the child's events, or "". While the child works, or if its logs could
// not be copied, the file is in its workspace, to which live_logs leads. eventsPath itself follows no link. work is the
// workspace, or nil if it is not there.
func (h *home) eventsPath(id delegation.SubagentID, work *os.Root) (path string) {
	_ = h.withLogs(id, func(logs *os.Root) error {
		kept := filepath.Join(h.settings.Logs, "subagents", id.String())
		for _, name := range []string{"full_logs/events.jsonl", "full_logs/turn_1/attempt_1/events.jsonl"} {
			if isFile(logs, name) {
				path = filepath.Join(kept, name)
				return nil
			}
		}
		if work == nil {
			return nil
		}
		newest, err := newestLog(work)
		if err != nil || newest == "" {
			return err
		}
		for _, name := range []string{filepath.Join(newest, attempt, "events.jsonl"), filepath.Join(newest, "events.jsonl")} {
			if isFile(work, filepath.Join(childLogs, name)) {
				path = filepath.Join(kept, "live_logs", name)
				return nil
			}
		}
		return nil
	})
	return path
}

func isFile(root *os.Root, name string) bool {
	f, _, err := beneath.OpenFile(root, name)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// leftOut lists the names that the copy of a workspace in the logs leaves out.
var leftOut = []string{".massgen", "node_modules", ".pnpm-store", "__pycache__"}

// keepTime bounds how long a call is busy with logs.
const keepTime = 3 * time.Second

// keepLogs copies into the logs everything that MassGen keeps of a child's run, if logs are kept. If a copy fails, it
// notes the error beside the copy.
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
		return errors.Join(putJSON(logs, "subprocess_logs.json", note), putJSON(logs, "conversation.json", conversation(k, h.wholeTask(subagent, k), s)))
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

// makeFinal writes the final answer of a MassGen child that has left none in its log. It takes the answer of the agent
// that the child's status points to, and a copy of that agent's workspace.
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

// keepTree copies a directory to a name in the logs. It removes the copy of an earlier run.
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

// newestLog returns the name of the newest log of a child, or "".
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

// wholeTask returns the task of a child's run: as it was kept, unless that is an earlier run's.
func (h *home) wholeTask(id delegation.SubagentID, k kid) string {
	task := k.task
	_ = h.withExisting(func(tree *layout.Tree) error { // without it the beginning is shown
		whole, err := tree.Task(id)
		if err == nil && (task == "" || layout.Preview(whole) == task) {
			task = whole
		}
		return err
	})
	return task
}

// conversation returns the parent's task, and the child's last word as it was shown.
func conversation(k kid, task string, s shown) []said {
	all := []said{{stamp(k.began), "user", task, ""}}
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
