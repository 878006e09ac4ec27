package evaluation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// S§1.11: the forms of verdict.json and next_tasks.json.
func TestForms(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/forms.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			text, want, _ := strings.Cut(strings.TrimSuffix(string(file.Data), "\n"), "\n")
			check := Verdict
			if strings.HasPrefix(file.Name, "tasks") {
				check = NextTasks
			}
			got := "fine"
			if err := check([]byte(text)); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

const (
	verdict = `{"schema_version":"1","verdict":"converged","scores":{"a":1}}`
	next    = `{"success_contract":{"outcome_statement":"o","quality_bar":"q","fail_if_any":[],"required_evidence":[]},"strategy_mode":"incremental_refinement",` +
		`"approach_assessment":{"ceiling_status":"ceiling_reached"},"tasks":[{"description":"d","verification":"v","success_criteria":"s","failure_signals":[],"required_evidence":[]}]}`
)

func workspace(t *testing.T, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// S§1.11: "copied to the workspace root from … if only there".
func TestBring(t *testing.T) {
	root, dir := workspace(t, map[string]string{
		"agent_1/critique_packet.md": "old", "final/x/workspace/critique_packet.md": "new",
		".massgen/sessions/s/turn_1/workspace/verdict.json": verdict,
		"next_tasks.json": next, "agent_1/next_tasks.json": "of another",
	})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir+"/agent_1/critique_packet.md", old, old); err != nil {
		t.Fatal(err)
	}
	if faults := Bring(root); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	for name, want := range map[string]string{PacketFile: "new", VerdictFile: verdict, TasksFile: next} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// What is missing or wrong is said, each of it.
func TestFaults(t *testing.T) {
	root, _ := workspace(t, map[string]string{"verdict.json": `{"schema_version":"2"}`, "critique_packet.md": " \n"})
	faults := errors.Join(Bring(root)...)
	for _, part := range []string{"critique_packet.md is empty", `verdict.json: schema_version must be "1"`, "next_tasks.json is missing"} {
		if faults == nil || !strings.Contains(faults.Error(), part) {
			t.Errorf("%q is not said: %v", part, faults)
		}
	}
}

// A child that leaves links gets nothing copied, and nothing is read through them.
func TestNothingComesThroughALink(t *testing.T) {
	root, dir := workspace(t, map[string]string{"agent_1/x": ""})
	outside := t.TempDir()
	for name, text := range map[string]string{"verdict.json": verdict, "critique_packet.md": "secret", "next_tasks.json": next} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink(outside, dir+"/agent_2"), os.Symlink(outside+"/verdict.json", dir+"/agent_1/verdict.json"), os.Link(outside+"/critique_packet.md", dir+"/agent_1/critique_packet.md"),
		os.Symlink(outside+"/next_tasks.json", dir+"/next_tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	if faults := Bring(root); len(faults) != 3 {
		t.Errorf("faults: %v", faults)
	}
	for _, name := range []string{PacketFile, VerdictFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}
