//go:build linux

package adapter

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
	"torno/internal/pipes"
)

// teller writes lines to standard output.
type teller struct {
	fd   int
	mu   sync.Mutex
	deaf bool // the other side has gone; the answer is still wanted
}

// tell writes each line with one write, of which a pipe that is full takes as much as it can.
func (t *teller) tell(lines []agent.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range lines {
		data, err := agent.Encode(l)
		if err != nil {
			warn("a line of %s is left out: %v", l.Kind, err)
			continue
		}
		t.deaf = t.deaf || pipes.WriteAll(t.fd, data) != nil
	}
}

// mostSaid is how long a sentence on standard error is at most.
const mostSaid = 2000

// warn says something in one line on standard error, where the agent says its own.
func warn(format string, args ...any) {
	text := strings.Join(strings.Fields(valid(fmt.Sprintf(format, args...))), " ")
	if first, rest := cut(text, mostSaid); rest != "" {
		text = first + "…"
	}
	_ = pipes.WriteAll(unix.Stderr, []byte("torno-agent: "+text+"\n")) // without it, the result still tells
}
