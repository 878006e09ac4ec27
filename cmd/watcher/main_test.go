package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/journal"
	"torno/internal/lock"
	"torno/sandbox/launchers"
	"torno/test/wait"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"watcher": storyMain})
}

// storyMain is main on a machine on which no watcher is installed, and perhaps on one without sandboxes.
func storyMain() {
	a := newApp(launchers.All)
	a.machine.state = "/nonexistent/torno"
	a.machine.platform = cmp.Or(os.Getenv("TORNO_STORY_PLATFORM"), a.machine.platform)
	a.words = os.Args[1:]
	os.Exit(a.Main(context.Background(), os.Args[1:], cli.Process()))
}

// TestStories runs the stories that need no engine: a socket without replies takes its place.
func TestStories(t *testing.T) { testscript.Run(t, stories("testdata/script")) }

func stories(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			if err := beside(env, "sandbox-init"); err != nil {
				return err
			}
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("DOCKER_HOST", "unix://"+env.WorkDir+"/engine.sock")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector else holds every process for a second
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "eventually": eventually, "listen": listen, "hold": hold, "seed": seed, "fill": fill,
		},
	}
}

// beside puts programs that are never run into the PATH of a story.
func beside(env *testscript.Env, programs ...string) error {
	bin := filepath.Join(env.WorkDir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			return err
		}
	}
	env.Setenv("PATH", bin+":"+env.Getenv("PATH"))
	return nil
}

// fill puts the environment into a file: fill FILE
func fill(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// exits runs a program that must end with an exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// eventually waits until a file is there, and with a second argument until that text is in it.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0])
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(file)
		if err == nil && (len(args) == 1 || bytes.Contains(data, []byte(args[1]))) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not become as it should be: %v\n%s", args[0], err, data)
		}
	}
}

// listen opens a socket that never replies.
func listen(ts *testscript.TestScript, _ bool, args []string) {
	listener, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
}

// hold takes the lock of a directory: hold state|outbox DIR WHO
func hold(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[1])
	info, err := os.Stat(dir)
	ts.Check(err)
	held, err := lock.Outbox(dir, info, args[2])
	if args[0] == "state" {
		held, err = lock.State(dir, args[2])
	}
	ts.Check(err)
	ts.Defer(func() { ts.Check(held.Unlock()) })
}

// seed writes the journal of a watcher that is gone: seed STATE
func seed(ts *testscript.TestScript, _ bool, args []string) {
	j, err := journal.Open(context.Background(), filepath.Join(ts.MkAbs(args[0]), "journal.db"))
	ts.Check(err)
	for _, r := range remembered() {
		_, err := j.Begin(context.Background(), r)
		ts.Check(err)
	}
	ts.Check(j.Close())
}

// remembered are runs of each kind, oldest first.
func remembered() []journal.Run {
	subagent := func(s string) delegation.SubagentID { id, _ := delegation.ParseSubagentID(s); return id }
	request := func(s string) delegation.RequestID { id, _ := delegation.ParseRequestID(s); return id }
	exit, noon := 3, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := []journal.Run{
		{
			Outbox: "main", Subagent: subagent("s1"), Request: request("r1"), Attempt: 1, FileName: "request_s1.json",
			State: delegation.StateEnded, Reason: delegation.ReasonExited, ExitCode: &exit, StdoutTail: "out\x1b[2J\n", StderrTail: "err\n",
			Warnings: []string{"timeout_seconds 9999 is more than profile sh allows; it is 1h0m0s"}, Profile: "sh", Launcher: "docker",
			Workspace: "/outbox/workspaces/s1", Created: noon, Started: noon.Add(time.Second), Ended: noon.Add(2 * time.Second),
			Timings: &delegation.Timings{Admit: 0.5, Create: 40, Start: 60, Run: 1000, Total: 2000}, Answered: true,
			Descent: journal.Descent{Parent: "boss", Run: "0123456789abcdef0123456789abcdef", Depth: 2},
		},
		{
			Outbox: "other", Subagent: subagent("s1"), Request: request("r2"), Attempt: 1, FileName: "request_s1.json",
			State: delegation.StateQueued, Profile: "sh", Created: noon,
		},
		{
			Outbox: "main", Subagent: subagent("s2"), Request: request("r3"), Attempt: 1, FileName: "request_s2.json",
			State: delegation.StateEnded, Reason: delegation.ReasonRefused, Code: delegation.CodeWorkspace, Field: "workspace",
			Text: "Workspace path not in allowed roots: /etc", Hint: "ask for another one", Created: noon, Ended: noon, Answered: true,
		},
		{
			Outbox: "main", SubagentText: "evil\x1b]0;id", FileName: "request_evil\x1b]0;id.json", State: delegation.StateEnded,
			Reason: delegation.ReasonRefused, Code: delegation.CodeBadID, Text: "bad\nid", Created: noon, Ended: noon, Answered: true,
		},
	}
	for i := range all {
		all[i].Stamp = delegation.Stamp{Ino: uint64(i)}
		all[i].Key = all[i].RunKey().Hash()
		if all[i].Attempt == 0 {
			all[i].Key = journal.EntryKey(all[i].Outbox, all[i].FileName, all[i].Stamp, all[i].Content)
		}
	}
	return all
}
