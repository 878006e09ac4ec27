package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"torno/sandbox"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
)

// Outside of every sandbox no check may pass: a check that does would pass anywhere.
func TestChecksFailOnTheHost(t *testing.T) {
	report := lookAtHost(t)
	if report.Agent.Uids[0] != 0 || report.Agent.Seccomp != 0 {
		t.Skip("this machine is a sandbox itself, or we are not root in it: nothing was proved")
	}
	scene := scene{namespaces: hostNamespaces(t)}
	scene.spec.Process.Umask = report.Umask + 1
	for _, c := range checks {
		t.Run(c.what, func(t *testing.T) {
			if c.key == sandbox.NoNetwork && !slices.ContainsFunc(report.Up, func(name string) bool { return name != "lo" }) {
				t.Skip("this machine has no network either: nothing was proved")
			}
			if c.ok(report, scene) {
				t.Errorf("it passes on the host; this was found:\n%s", found(report))
			}
		})
	}
}

// lookAtHost runs the prober as this process's child, with a descriptor too many.
func lookAtHost(t *testing.T) (report inside.Report) {
	t.Helper()
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	look := exec.Command(verdict.Build(t), "look")
	look.ExtraFiles = []*os.File{extra}
	look.Stderr = t.Output()
	out, err := look.Output()
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}
