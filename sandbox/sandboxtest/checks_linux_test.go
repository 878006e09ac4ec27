package sandboxtest

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"torno/sandbox"
	"torno/sandbox/sandboxtest/inside"
)

// Outside of every sandbox no check may pass: one that does would pass anywhere.
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

// A call that root on the host is denied as well is no proof of a filter; here is said which ones that are.
func TestDeniedCallsAreAllowedOnTheHost(t *testing.T) {
	report := lookAtHost(t)
	if report.Agent.Uids[0] != 0 || report.Agent.Seccomp != 0 {
		t.Skip("this machine is a sandbox itself, or we are not root in it: nothing was proved")
	}
	proof := len(notDenied(report.Calls))
	for name, outcome := range report.Calls {
		if outcome.Denied() {
			t.Logf("%s gives %s on the host too", name, outcome)
		}
	}
	if proof < len(report.Calls)*2/3 {
		t.Errorf("only %d of %d calls prove anything", proof, len(report.Calls))
	}
}

// lookAtHost runs the probe as this process's child, with a descriptor too many and a door that is open.
func lookAtHost(t *testing.T) (report inside.Report) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	look := exec.Command(buildProbe(t), "look", "tcp "+listener.Addr().String())
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
