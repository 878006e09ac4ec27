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
	deaf bool // the reader of the lines has gone; the answer is still wanted
}

// tell writes each line with one write. A full pipe takes the line in pieces.
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

// mostSaid bounds a message on standard error, and the text that an acknowledgement repeats, in bytes of JSON.
const mostSaid = 2000

// warn writes one line to standard error, where the agent writes its own.
func warn(format string, args ...any) {
	text := strings.Join(strings.Fields(valid(fmt.Sprintf(format, args...))), " ")
	if first, rest := cut(text, mostSaid); rest != "" {
		text = first + "…"
	}
	_ = pipes.WriteAll(unix.Stderr, []byte("torno-agent: "+text+"\n")) // if this fails, the result still says it
}
