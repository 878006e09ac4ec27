//go:build linux

package main_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// adapted is a box in which init starts the adapter, and that a script as Claude Code.
func adapted(t *testing.T, script string) *box {
	t.Helper()
	b := newBox(t, "")
	b.plant(t, "task", "do it")
	b.plant(t, "claude", "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(b.in("claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.file.Argv = []string{runfile.Init, "agent", "claude", "--task", ws + "/task", "--answer", ws + "/answer", "--", ws + "/claude"}
	return b
}

func TestAdapter(t *testing.T) {
	b := adapted(t, `printf '{"type":"result","is_error":false,"result":"%s"}' "$(ls /proc/self/fd | tr '\n' ' ')$(id -u)"; exit 3`)
	r := b.run(t)
	r.exits(t, 3)
	if !strings.HasPrefix(r.stdout, `{"type":"result","text":"0 1 2 `) || r.stdout != `{"type":"result","text":"`+b.read(t, "answer")+"\"}\n" {
		t.Errorf("%q, and the answer is %q", r.stdout, b.read(t, "answer"))
	}
	b = adapted(t, "")
	b.file.Argv = append(b.file.Argv[:len(b.file.Argv)-1], "none")
	r = b.run(t)
	const says = `claude is not there: cannot run "none": it is not in the PATH`
	if said := r.agentSaid(t); r.status.ExitStatus() != 127 || !strings.HasPrefix(said, "torno-agent: "+says) || !strings.Contains(r.stdout, `"failed":true`) {
		t.Errorf("status %#x, said %q, told %q", r.status, said, r.stdout)
	}
}

// TestAdapterIsSignalledWithItsAgent: both have the signal, and the agent's end is what counts.
func TestAdapterIsSignalledWithItsAgent(t *testing.T) {
	const begins = `printf '%s\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"ready"}]}}'; `
	r := adapted(t, `trap 'printf "%s" "{\"type\":\"result\",\"is_error\":false,\"result\":\"cancelled\"}"; exit 4' INT; `+begins+`while :; do read -r x || :; done`).start(t)
	r.stdout.until(t, "ready")
	r.signal(t, unix.SIGINT)
	res := r.wait(t)
	if res.exits(t, 4); !strings.HasSuffix(res.stdout, "{\"type\":\"result\",\"text\":\"cancelled\"}\n") {
		t.Errorf("%q", res.stdout)
	}
}
