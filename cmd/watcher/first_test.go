package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/internal/cli"
	"torno/internal/doctor"
	"torno/sandbox/launchers"
)

// TestALineToPaste: a start that lacks nothing but limits says one line with which the same command starts.
func TestALineToPaste(t *testing.T) {
	limits := &doctor.RefusedError{Findings: []doctor.Finding{
		{Name: "bounds", Accept: "x", Limit: "memory"}, {Name: "bounds", Accept: "y", Limit: "pids"}, {Name: "bounds", Accept: "x", Limit: "memory"},
	}}
	more := &doctor.RefusedError{Findings: append([]doctor.Finding{{Name: "walls"}}, limits.Findings...)}
	runtime := t.TempDir()
	for _, made := range []string{"systemd/private", "cgroup.controllers", "bin/systemd-run"} {
		file := filepath.Join(runtime, made)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(runtime, "bin"))
	const accept = "watcher run --accept memory --accept pids --dir './my box' -- make"
	const scope = "systemd-run --user --scope -p Delegate=yes watcher run --dir './my box' -- make"
	for name, c := range map[string]struct {
		err                 error
		dir, runtime, group string
		root                bool
		want                string
	}{
		"no systemd":            {limits, "./my box", "", runtime, false, accept},
		"systemd":               {limits, "./my box", runtime, runtime, false, scope},
		"control groups of old": {limits, "./my box", runtime, runtime + "/none", false, accept},
		"root":                  {limits, "./my box", runtime, runtime, true, accept},
		"a wall is missing":     {more, "./my box", runtime, runtime, false, ""},
		"a configuration":       {limits, "", runtime, runtime, false, ""},
		"another error":         {errors.New("boom"), "./my box", "", runtime, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(launchers.All)
			a.words = []string{"run", "--dir", "./my box", "--", "make"}
			a.source.local.Dir, a.machine.cgroups, a.machine.root = c.dir, c.group, c.root
			var said bytes.Buffer
			env := func(string) string { return c.runtime }
			a.System = cli.System{Env: env, Out: cli.NewOutput(io.Discard, env), Errors: cli.NewOutput(&said, env)}
			a.Fail(a.pasteable(c.err))
			_, next, _ := strings.Cut(said.String(), "\nnext: ")
			if next = strings.TrimSpace(next); next != c.want && (c.want != "" || strings.HasPrefix(next, "watcher run")) {
				t.Errorf("got %q, want %q", next, c.want)
			}
		})
	}
}

// TestWhatIsPastedIsRead: the line is this program's own command again, with the limits that are done without.
func TestWhatIsPastedIsRead(t *testing.T) {
	got := accepting([]string{"--json", "run", "--dir", "run"}, []string{"memory", "memory", "pids"})
	if want := strings.Fields("--json run --accept memory --accept pids --dir run"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
