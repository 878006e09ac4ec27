package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/gateway/control"
	"torno/test/house"
	"torno/test/upstream/standin"
)

const upstreamKey = "sk-stand-in-0123456789"

// modelHouse has a profile whose children reach a model: a stand-in on this machine.
func modelHouse(t *testing.T, sandbox, budget string) (*house.House, *standin.Upstream) {
	t.Helper()
	up := standin.New(upstreamKey)
	h, _ := houseBefore(t, up, sandbox, budget)
	return h, up
}

// houseBefore is modelHouse with another upstream, and says where that is. top are more keys of the configuration.
func houseBefore(t testing.TB, up http.Handler, sandbox, budget string, top ...string) (*house.House, string) {
	t.Helper()
	house.Need(t, sandbox)
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(upstreamKey), 0o600); err != nil {
		t.Fatal(err)
	}
	h := house.New(t, house.Plan{
		Sandbox: sandbox, Offers: ", talks",
		Top: fmt.Sprintf(`gateway:
  routes: {model: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}}
  prices: {model: {"*": {input: 5, output: 25}}}
%s`, server.URL, key, strings.Join(top, "\n")),
		Profiles: "  talks:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    routes: [model]\n    " + budget,
	})
	return h, server.URL
}

func gatewayOf(h *house.House) *control.Client {
	c := control.Dial(filepath.Join(h.State, "gateway"))
	h.Cleanup(c.Close)
	return c
}

// killGateway kills it, as a lack of memory would.
func killGateway(h *house.House) {
	if status, err := gatewayOf(h).Status(h.Context()); err == nil {
		if p, err := os.FindProcess(status.Process); err == nil {
			_ = p.Kill()
		}
	}
}

// ask is a shell's script that sends one message to the model, and prints the answer.
func askModel(message string) string {
	return postToModel(fmt.Sprintf(`{"model":"m","max_tokens":50,"messages":[{"role":"user","content":%q}]}`, message))
}

// streamModel is askModel for an answer in events.
func streamModel(message string) string {
	return postToModel(fmt.Sprintf(`{"model":"m","max_tokens":50,"stream":true,"messages":[{"role":"user","content":%q}]}`, message))
}

func postToModel(body string) string {
	return fmt.Sprintf(`bash -c 'host=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${host/:/\/} && printf "POST /v1/messages HTTP/1.1\r\nHost: $host\r\nConnection: close\r\nx-api-key: $ANTHROPIC_API_KEY\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%%s" "$1" >&3 && cat <&3' _ '%s'`, len(body), body)
}

// TestAChildTalksToItsModel: without a network and without a credential. What was spent is in its response, and the door is gone
// with its sandbox.
func TestAChildTalksToItsModel(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, up := modelHouse(t, sandbox, "budget: {run: {requests: 3}}")
		resp := h.Run(house.Ask{ID: "a", Profile: "talks", Task: "env; " + askModel("hello")})
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if !strings.Contains(resp.StdoutTail, "You said: hello") || strings.Contains(resp.StdoutTail, upstreamKey) {
			t.Errorf("the child printed %q", resp.StdoutTail)
		}
		if m := resp.Usage.Model; m == nil || m.Requests != 1 || m.InputTokens != standin.InputTokens || m.OutputTokens != standin.OutputTokens || m.Money != "0.000125" {
			t.Errorf("its response says that it spent %+v", m)
		}
		if seen := up.Posts(); len(seen) != 1 || seen[0].Header.Get("X-Api-Key") != upstreamKey {
			t.Errorf("the upstream has seen %+v", seen)
		}
		resp = h.Run(house.Ask{ID: "b", Profile: "talks", Task: askModel("1") + "; " + askModel("2") + "; " + askModel("3") + "; " + askModel("4") + " | tail -1; exit 3"})
		h.Want(resp, delegation.StatusError, delegation.ReasonBudget, 3)
		if m := resp.Usage.Model; m == nil || m.Requests != 3 || len(resp.Warnings) == 0 {
			t.Errorf("over its budget: %+v, %q", m, resp.Warnings)
		}
		resp = h.Run(house.Ask{ID: "c", Task: `bash -c 'exec 3<>/dev/tcp/127.0.0.1/4180' || echo none`})
		if !strings.Contains(resp.StdoutTail, "none") || resp.Usage.Model != nil {
			t.Errorf("without a route: %q, %+v", resp.StdoutTail, resp.Usage.Model)
		}
		doorsAreGone(h)
	})
}

// TestEachEventIsSeenBeforeTheNext: what the upstream says reaches the child at once. It sends no event before the child has printed
// the one before.
func TestEachEventIsSeenBeforeTheNext(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, up := modelHouse(t, sandbox, "budget: {}")
		up.Step = make(chan struct{})
		a := h.Submit(house.Ask{ID: "a", Profile: "talks", Task: streamModel("abc")})
		for _, event := range []string{
			`"message_start"`, `"content_block_start"`, `"You s"`, `"aid: "`, `"abc"`, `"content_block_stop"`, `"message_delta"`,
		} {
			h.Says(a, event)
			select {
			case up.Step <- struct{}{}:
			case <-t.Context().Done():
				t.Fatal("the upstream is not asked any more")
			}
		}
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if !strings.Contains(resp.StdoutTail, `"message_stop"`) {
			t.Errorf("the child printed %q", resp.StdoutTail)
		}
	})
}

// doorsAreGone waits until the gateway has no door any more: they go with their sandboxes, after the answers.
func doorsAreGone(h *house.House) {
	h.Helper()
	c := gatewayOf(h)
	h.Eventually("every door is gone", func() bool {
		doors, err := c.Doors(h.Context())
		return err == nil && len(doors) == 0
	})
}

// TestAWatcherGoesInTheMiddleOfAnAnswer: its child does not notice. The next watcher closes the door, and knows what was spent.
func TestAWatcherGoesInTheMiddleOfAnAnswer(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, up := modelHouse(t, sandbox, "budget: {tree: {requests: 100}}")
		a := h.Submit(house.Ask{ID: "a", Profile: "talks", Task: "echo ready; while ! test -e go; do sleep 0.02; done; " + askModel("after")})
		h.Says(a, "ready")
		h.Signal(syscall.SIGKILL)
		h.Touch("workspaces/a/go")
		h.Eventually("the upstream is asked, while there is no watcher", func() bool { return len(up.Posts()) == 1 })
		h.Start()
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if m := resp.Usage.Model; !strings.Contains(resp.StdoutTail, "You said: after") || m == nil || m.Requests != 1 {
			t.Errorf("%q, %+v", resp.StdoutTail, m)
		}
		doorsAreGone(h)
	})
}

// TestTheGatewayIsKilled: it is started again, at the same place for the child.
func TestTheGatewayIsKilled(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, _ := modelHouse(t, sandbox, "budget: {}")
		a := h.Submit(house.Ask{ID: "a", Profile: "talks", Task: "echo ready; while ! test -e go; do sleep 0.02; done; " + askModel("after")})
		h.Says(a, "ready")
		c := gatewayOf(h)
		before, err := c.Status(h.Context())
		h.Must(err)
		killGateway(h)
		h.Eventually("another gateway has the door", func() bool {
			now, err := c.Status(h.Context())
			return err == nil && now.Process != before.Process && now.Doors == 1
		})
		h.Touch("workspaces/a/go")
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if !strings.Contains(resp.StdoutTail, "You said: after") {
			t.Errorf("%q", resp.StdoutTail)
		}
	})
}

// TestWhatARunHasSpentSoFar is seen by its operator while it runs, also where the gateway was started again. A gateway
// that is gone hides no run.
func TestWhatARunHasSpentSoFar(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, _ := modelHouse(t, sandbox, "budget: {}")
		a := h.Submit(house.Ask{ID: "a", Profile: "talks", Task: askModel("one") + "; echo ready; while ! test -e go; do sleep 0.02; done"})
		h.Says(a, "ready")
		watcher := func(args ...string) string {
			out, err := h.Command("watcher", append(args, "--config", h.Config)...).Output()
			h.Must(err)
			return string(out)
		}
		spent := func() bool {
			return strings.Contains(watcher("show", "a"), "1 requests to its model") && strings.Contains(watcher("ps"), "0.000125") &&
				strings.Contains(watcher("ps", "--json"), `"money":"0.000125"`)
		}
		h.Eventually("it is seen", spent)
		before, err := gatewayOf(h).Status(h.Context())
		h.Must(err)
		killGateway(h)
		if out := watcher("ps"); !strings.Contains(out, "running") {
			t.Errorf("without a gateway: %s", out)
		}
		h.Eventually("it is seen by the next gateway", func() bool {
			now, err := gatewayOf(h).Status(h.Context())
			return err == nil && now.Process != before.Process && spent()
		})
		h.Touch("workspaces/a/go")
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if out := watcher("show", "a"); !strings.Contains(out, "1 requests to its model") || strings.Contains(out, "so far") {
			t.Errorf("when it has ended: %s", out)
		}
	})
}

// TestTheGatewayForgetsRunsThatAreOver: when a next watcher has looked, nothing is left of what they have spent but the sum of
// their outbox, and their responses.
func TestTheGatewayForgetsRunsThatAreOver(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		const most = 9
		h, _ := modelHouse(t, sandbox, fmt.Sprintf("budget: {tree: {requests: %d}}", most))
		c := gatewayOf(h)
		spent, known := 0, 0
		for ; known < 2 && spent < most; spent++ { // each minute the watcher looks, too
			h.Want(h.Run(house.Ask{ID: fmt.Sprint("a", spent), Profile: "talks", Task: askModel("hello")}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			doorsAreGone(h)
			idle, err := c.IdleRuns(h.Context(), "")
			h.Must(err)
			known = len(idle)
		}
		if known < 2 {
			t.Fatalf("before, the gateway knows %d runs", known)
		}
		h.Must(h.Signal(syscall.SIGTERM))
		killGateway(h)
		h.Start()
		h.Eventually("the gateway has forgotten them", func() bool {
			idle, err := c.IdleRuns(h.Context(), "")
			return err == nil && len(idle) == 0
		})
		resp := h.Run(house.Ask{ID: "c", Profile: "talks", Task: strings.Repeat(askModel("1")+"; ", most-spent) + askModel("2") + " | tail -1; exit 3"})
		h.Want(resp, delegation.StatusError, delegation.ReasonBudget, 3)
	})
}

// TestCheckTriesRoutes: an operator is told by `check --try` whether a route leads to its model.
func TestCheckTriesRoutes(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		h, up := modelHouse(t, sandbox, "budget: {}")
		check := func(args ...string) (string, error) {
			out, err := h.Command("watcher", append([]string{"check", "--try", "--config", h.Config}, args...)...).CombinedOutput()
			if strings.Contains(string(out), upstreamKey) {
				t.Errorf("it says the credential: %s", out)
			}
			return string(out), err
		}
		if out, err := check(); err != nil || !strings.Contains(out, "the upstream answers") {
			t.Errorf("while a watcher serves: %v: %s", err, out)
		}
		try := func(args ...string) (string, error) {
			out, err := h.Command("watcher", append([]string{"gateway", "try", "model", "--config", h.Config}, args...)...).CombinedOutput()
			if strings.Contains(string(out), upstreamKey) {
				t.Errorf("it says the credential: %s", out)
			}
			return string(out), err
		}
		if out, err := try(); err != nil || !strings.Contains(out, "the upstream answers") {
			t.Errorf("one route: %v: %s", err, out)
		}
		up.Rotate("sk-another-0123456789")
		if out, err := try(); err == nil || !strings.Contains(out, "credential") {
			t.Errorf("one route with a credential that is refused: %v: %s", err, out)
		}
		if out, err := try("--stand-in"); err != nil || !strings.Contains(out, "charged 8 tokens in, 12 out, 0.00034") {
			t.Errorf("the stand-in: %v: %s", err, out)
		}
		if out, err := check("--json"); err == nil || !strings.Contains(out, `"wrong":"credential"`) || !strings.Contains(out, "1 of 1 routes do not work: model") {
			t.Errorf("with a credential that is refused: %v: %s", err, out)
		}
	})
}
