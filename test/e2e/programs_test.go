package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

func TestProgramsOfTheOperator(t *testing.T) {
	house.Together(t, house.Everybody, programsOfTheOperator)
}

// programsOfTheOperator: children run a program that is not in /usr, and cannot change it. A newer version counts from the next run
// on, and none runs while others could exchange it.
func programsOfTheOperator(t *testing.T, sandbox string) {
	dir := filepath.Join(t.TempDir(), "tools")
	install(t, dir)
	h := house.New(t, house.Plan{Sandbox: sandbox, Offers: ", tools, alone", Profiles: fmt.Sprintf(`
  tools:
    programs: [{host: %[1]s, as: /usr/local/torno}]
  alone:
    programs: [{host: %[1]s/bin/torno-tool, as: /usr/local/bin/torno-alone}]
`, dir)})
	run := func(id, profile, task string) delegation.Response {
		return h.Run(house.Ask{ID: id, Profile: profile, Task: task})
	}
	ends := func(resp delegation.Response, want string) {
		t.Helper()
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if !strings.Contains(resp.StdoutTail, want) {
			t.Errorf("the child said %q, want %q in it", resp.StdoutTail, want)
		}
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "bin/torno-tool"), "version").Output()
	h.Must(err)
	version := string(said)
	ends(run("runs", "tools", `torno-tool version
		for f in /usr/local/torno/new /usr/local/torno/bin/torno-tool /usr/local/new; do ! echo changed 2>/dev/null >"$f" || echo "wrote $f"; done
		ls /usr/local`), version+"torno\n")
	ends(run("alone", "alone", "torno-alone version; ls /usr/local"), version+"bin\n")
	h.Want(run("others", "sh", "torno-tool version"), delegation.StatusError, delegation.ReasonExited, 127)

	h.Must(os.RemoveAll(dir))
	install(t, dir)
	h.Must(os.WriteFile(filepath.Join(dir, "bin/torno-tool"), []byte("#!/bin/sh\necho the newer one\n"), 0o755))
	ends(run("newer", "tools", "torno-tool version"), "the newer one\n")

	h.Must(os.Chmod(dir, 0o777))
	for _, profile := range []string{"tools", "alone"} {
		resp := run("open-"+profile, profile, "torno-tool version; torno-alone version")
		if resp.Status != delegation.StatusError || resp.Reason != delegation.ReasonLaunchFailed || !strings.Contains(resp.StderrTail, "can be written by others") {
			t.Errorf("others may write the programs, and the response is %s, %s: %s", resp.Status, resp.Reason, resp.StderrTail)
		}
	}
	ends(run("still", "sh", "echo served"), "served\n")
}

// install puts a program of no libraries into a directory of the operator's.
func install(t *testing.T, dir string) {
	t.Helper()
	program, err := os.ReadFile(house.Program("subagent"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "bin"), 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755) // a watcher of an ordinary user's passes here
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "bin/torno-tool"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoTests is what the first steps of `subagent` say, with Go where its own instructions put it.
func TestGoTests(t *testing.T) {
	t.Parallel()
	const goRoot = "/usr/local/go"
	if _, err := os.Stat(goRoot + "/bin/go"); err != nil || testing.Short() {
		t.Skip("there is no Go in " + goRoot + ", or tests are to be short: it builds much of Go's library")
	}
	h := house.New(t, house.Plan{Offers: ", go", Profiles: `
  go:
    programs: [` + goRoot + `]
    limits: {memory: 2GiB, tmp: 512MiB, home: 512MiB}
    timeout: {default: 30m, min: 1s, max: 30m}
`})
	a := house.Ask{ID: "go", Profile: "go", Task: "go test ./...", Timeout: 1800, Workspace: h.Mkdir(filepath.Join(h.Outbox, "workspaces/go"))}
	for name, content := range map[string]string{
		"go.mod": "module example.org/m\n", "m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestM(*testing.T) {}\n",
	} {
		h.Must(os.WriteFile(filepath.Join(a.Workspace, name), []byte(content), 0o644))
	}
	a = h.Submit(a)
	h.Within(30*time.Minute, "the tests have run", func() bool { return h.Exists("response_go.json") })
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if !strings.HasPrefix(resp.StdoutTail, "ok") {
		t.Errorf("it said %q and %q", resp.StdoutTail, resp.StderrTail)
	}
}
