package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/gateway/control"
	"torno/test/upstream/standin"
)

// gateway is the stage's gateway.
func (s *stage) gateway() *control.Client {
	c := control.Dial(filepath.Join(s.State, "gateway"))
	s.Cleanup(c.Close)
	return c
}

// TestTheGatewayIsExchangedInTheMiddleOfAnAnswer: at an upgrade the program of another version lies in its place, and it is told to end, while an answer that has the client call a tool
// comes in parts. The answer comes to its end, the tool runs, the result goes to the next gateway, and each request was sent and counted once.
func TestTheGatewayIsExchangedInTheMiddleOfAnAnswer(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		rest := make(chan struct{})
		program := filepath.Join(t.TempDir(), "model-gateway")
		buildGateway(t, program, "v1.0.0")
		c.top += fmt.Sprintf("\n  program: %q", program)
		s := stageFor(t, c, sandbox, func(up *standin.Upstream) { up.Step = rest })
		a := s.Submit(s.ask("up", "client", c.run, fmt.Sprintf(c.tool, "echo from-$((40+2)) | tee made.txt")))
		rest <- struct{}{} // the second event is on its way
		gateway := s.gateway()
		old, err := gateway.Status(t.Context())
		s.Must(err)
		buildGateway(t, program+".new", "v2.0.0")
		s.Must(os.Rename(program+".new", program))
		s.Must(syscall.Kill(old.Process, syscall.SIGTERM))
		s.Eventually("the gateway takes no more calls", func() bool {
			_, err := gateway.Status(t.Context())
			return err != nil
		})
		close(rest)
		resp := s.Response(a)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.wantPrinted(resp, "from-42")
		if made := s.Read(a.Workspace + "/made.txt"); made != "from-42\n" {
			t.Errorf("the command has made %q", made)
		}
		if m := resp.Usage.Model; m == nil || m.Requests != 2 || m.OutputTokens != 2*standin.OutputTokens {
			t.Errorf("%+v was spent", m)
		}
		if n := len(s.up.Posts()); n != 2 {
			t.Errorf("the upstream was asked %d times", n)
		}
		if now, err := gateway.Status(t.Context()); err != nil || now.Process == old.Process || old.Version != "v1.0.0" || now.Version != "v2.0.0" {
			t.Errorf("%+v serves, and before %+v: %v", now, old, err)
		}
	})
}

// buildGateway builds a gateway of some version.
func buildGateway(t *testing.T, to, version string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-X torno/internal/version.Version="+version, "-o", to, "torno/cmd/model-gateway")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestRoutesChangeUnderAClient: between two steps of a client the operator has its model called otherwise and its credential read from
// another file, or takes its route away. The next request goes by what is said now; without a route the client says so, and ends.
func TestRoutesChangeUnderAClient(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		const next = "sk-stand-in-9876543210"
		other := filepath.Join(t.TempDir(), "key")
		s.Must(os.WriteFile(other, []byte(next), 0o600))
		waits := fmt.Sprintf(c.tool, "touch began; while ! test -e go; do sleep 0.02; done; echo went-$((40+2))")

		a := s.Submit(s.ask("renamed", "client", c.run, waits))
		s.began(a)
		s.up.Rotate(next)
		said := fmt.Sprintf("models: {%q: another-model}, credential: {file: %q}", c.model, other)
		s.reload(func(config string) string {
			return strings.ReplaceAll(config, fmt.Sprintf("credential: {file: %q}", s.key), said)
		})
		s.Touch("workspaces/renamed/go")
		resp := s.Response(a)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.wantPrinted(resp, "went-42")
		if seen := s.up.Posts(); len(seen) != 2 || !strings.Contains(string(seen[1].Body), `"model":"another-model"`) ||
			!strings.Contains(fmt.Sprint(seen[1].Header), next) || strings.Contains(string(seen[0].Body), "another-model") {
			t.Errorf("the upstream was asked %d times, the last time with %.300s", len(seen), seen[len(seen)-1].Body)
		}

		b := s.Submit(s.ask("removed", "client", c.run, waits))
		s.began(b)
		before := len(s.up.Posts())
		s.reload(func(config string) string {
			for _, place := range []string{"    %s: {preset", `    %s: {"*"`} {
				config = strings.ReplaceAll(config, fmt.Sprintf(place, c.Name), fmt.Sprintf(place, "later"))
			}
			return strings.ReplaceAll(config, "routes: ["+c.Name+"]", "routes: [later]")
		})
		s.Touch("workspaces/removed/go")
		resp = s.Response(b)
		s.Want(resp, delegation.StatusError, delegation.ReasonExited, 1)
		if m := resp.Usage.Model; m == nil || m.Requests != 1 {
			t.Errorf("%+v was spent", m)
		}
		if n := len(s.up.Posts()); n != before {
			t.Errorf("the upstream was asked %d times more", n-before)
		}
	})
}

// reload changes the configuration, and has the watcher read it.
func (s *stage) reload(change func(config string) string) {
	s.Helper()
	config := s.Read(s.Config)
	changed := change(config)
	if changed == config {
		s.Fatal("nothing changes")
	}
	s.Must(os.WriteFile(s.Config, []byte(changed), 0o600))
	if out, err := s.Command("watcher", "reload", "--config", s.Config).CombinedOutput(); err != nil {
		s.Fatalf("reload: %v: %s", err, out)
	}
}
