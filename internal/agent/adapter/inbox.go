//go:build linux

package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"torno/internal/agent"
)

// massgenInbox is the directory in which MassGen finds its parent's messages while it works. MassGen removes a file
// when it has taken it.
const massgenInbox = ".massgen/runtime_inbox"

// inbox brings messages to an agent that takes them from files. Only the removal of a file shows that the agent has
// taken it.
type inbox struct {
	root        *os.Root
	acknowledge func(agent.Input, error)
	waiting     []left
}

type left struct {
	in   agent.Input
	file string
}

var errNoInterrupt = errors.New("it cannot be interrupted; cancel it, then continue it with your message")

type massgenMessage struct {
	Content   string   `json:"content"`
	Source    string   `json:"source"`
	Timestamp string   `json:"timestamp"`
	Targets   []string `json:"target_agents"` // none: the whole team
}

// empty removes messages to an earlier run, so that this run does not get them.
func (b *inbox) empty() {
	for _, name := range entries(b.root, massgenInbox) {
		if strings.HasPrefix(name, "msg_") {
			_ = b.root.Remove(path.Join(massgenInbox, name)) // if this fails, the agent reads an old message
		}
	}
}

// take leaves a message in a file for the agent.
func (b *inbox) take(in agent.Input) {
	if in.Kind != agent.Message {
		b.acknowledge(in, errNoInterrupt)
		return
	}
	if len(b.waiting) == maxHeard {
		b.acknowledge(in, fmt.Errorf("it has %d messages that it has not read", maxHeard))
		return
	}
	now := time.Now()
	text, err := json.Marshal(massgenMessage{Content: in.Text, Source: "parent", Timestamp: now.UTC().Format(time.RFC3339Nano)})
	file := path.Join(massgenInbox, fmt.Sprintf("msg_%d_%d.json", now.Unix(), in.N))
	if err == nil {
		err = b.root.MkdirAll(massgenInbox, 0o755)
	}
	if err == nil {
		err = writeAnswer(file, string(text))
	}
	if err != nil {
		b.acknowledge(in, fmt.Errorf("the message cannot be written to its inbox: %w", err))
		return
	}
	b.waiting = append(b.waiting, left{in, file})
}

// look acknowledges the messages that the agent has taken.
func (b *inbox) look() {
	b.waiting = slices.DeleteFunc(b.waiting, func(l left) bool {
		_, err := b.root.Lstat(l.file)
		gone := errors.Is(err, fs.ErrNotExist)
		if gone {
			b.acknowledge(l.in, nil)
		}
		return gone
	})
}

// end takes back the messages that the agent had not read when it ended.
func (b *inbox) end() {
	b.look()
	for _, l := range b.waiting {
		err := b.root.Remove(l.file)
		if errors.Is(err, fs.ErrNotExist) {
			b.acknowledge(l.in, nil)
			continue
		}
		b.acknowledge(l.in, errLate)
	}
	b.waiting = nil
}
