package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/control"
	"torno/test/upstream/standin"
	"torno/test/work"
)

// asProgram has the test's own binary be the program.
const asProgram = "MODEL_GATEWAY_TEST_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	work.Counter()
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const secret = "sk-secret-0123456789abcdef"

// place is a configuration with an upstream.
type place struct {
	*testing.T
	dir     string
	up      *standin.Upstream
	program string // "" is this test's own
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &place{T: t, dir: dir, up: standin.New(secret)}
	server := httptest.NewServer(p.up)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	p.write("key", secret)
	p.write("gateway.yaml", fmt.Sprintf(`
routes:
  claude: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}
prices:
  claude: {stand-in: {input: 1, output: 2.5}}
`, server.URL, p.path("key")))
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// build has the place's program be the real one, which starts itself again where it has to.
func (p *place) build() {
	p.Helper()
	p.program = p.path("model-gateway")
	build := exec.CommandContext(p.Context(), "go", "build", "-trimpath", "-o", p.program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		p.Fatalf("%v\n%s", err, out)
	}
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), cmp.Or(p.program, os.Args[0]), args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// gatewayProcess is a program that serves.
type gatewayProcess struct {
	*place
	cmd  *exec.Cmd
	log  *lines
	Door *control.Client
}

// lines are what a program logs, as they come.
type lines struct {
	all bytes.Buffer
	in  *bufio.Reader
}

// until reads on to a line that holds a text.
func (l *lines) until(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := l.in.ReadString('\n')
		l.all.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("%q was not logged: %v\n%s", text, err, l.all.String())
		}
	}
}

func (p *place) serve() *gatewayProcess {
	p.Helper()
	return p.serveWith("--config", p.path("gateway.yaml"))
}

func (p *place) serveWith(args ...string) *gatewayProcess {
	p.Helper()
	cmd := p.command(append([]string{"serve", "--debug", "--state", p.path("state")}, args...)...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	g := &gatewayProcess{p, cmd, &lines{in: bufio.NewReader(pipe)}, control.Dial(p.path("state"))}
	p.Cleanup(func() {
		g.Door.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	g.log.until(p.T, `"serving"`)
	return g
}

func (g *gatewayProcess) open(id string, limits budget.Limits) *http.Client {
	g.Helper()
	d, err := g.Door.Open(g.Context(), gateway.Spec{
		ID: id, Lasts: gateway.Duration(time.Hour), Peer: gateway.Peer{Anyone: true}, Routes: []gateway.Way{{Route: "claude"}},
		Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: id}, Limits: limits}},
	})
	if err != nil {
		g.Fatal(err)
	}
	return child(g.T, d.Socket)
}

func child(t *testing.T, socket string) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func say(c *http.Client, text string, stream bool) (*http.Response, error) {
	body := fmt.Sprintf(`{"model":"stand-in","max_tokens":100,"stream":%v,"messages":[{"role":"user","content":%q}]}`, stream, text)
	return c.Post("http://localhost/v1/messages", "application/json", strings.NewReader(body))
}

func whole(t *testing.T, r *http.Response, err error) (status int, body string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(raw)
}

// TestServe: a gateway from its start to its end. The credential is in nothing that it says.
func TestServe(t *testing.T) {
	g := newPlace(t).serve()
	c := g.open("run", budget.Limits{})
	r, err := say(c, "hello", false)
	if status, body := whole(t, r, err); status != 200 || !strings.Contains(body, "You said: hello") {
		t.Errorf("%d: %s", status, body)
	}
	// The credential is read anew when it was exchanged, in the middle of a session.
	const other = "sk-other-9876543210fedcba"
	g.up.Rotate(other)
	g.write("key", other)
	r, err = say(c, "#echo", false)
	if status, body := whole(t, r, err); status != 200 || strings.Contains(body, other) {
		t.Errorf("%d: %s", status, body)
	}
	// A configuration that is not understood changes nothing; one that is counts at once.
	good, err := os.ReadFile(g.path("gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g.write("gateway.yaml", "routs: {}")
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.log.until(t, "did you mean routes?")
	g.write("gateway.yaml", strings.Replace(string(good), "preset: anthropic", "preset: anthropic, models: [other]", 1))
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.log.until(t, "read again")
	r, err = say(c, "hello", false)
	if status, body := whole(t, r, err); status != 400 || !strings.Contains(body, "stand-in") {
		t.Errorf("a model that is not allowed any more: %d: %s", status, body)
	}
	d, err := g.Door.CloseDoor(t.Context(), "run")
	if err != nil || d.Requests != 3 || d.Cost.Requests != 2 || d.Cost.Money.String() != "0.000035" {
		t.Errorf("closed as %+v: %v", d, err)
	}
	if _, err := g.Door.Door(t.Context(), "run"); !errors.Is(err, gateway.ErrNoDoor) {
		t.Errorf("a door that is closed: %v", err)
	}
	g.Door.Close()
	g.cmd.Process.Signal(syscall.SIGTERM)
	g.log.until(t, "stopped")
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, key := range []string{secret, other} {
		if strings.Contains(g.log.all.String(), key) {
			t.Errorf("the log has a credential: %s", &g.log.all)
		}
	}
	filepath.WalkDir(g.path("state"), func(path string, d os.DirEntry, _ error) error {
		if raw, err := os.ReadFile(path); err == nil && (bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, []byte(other))) {
			t.Errorf("%s has a credential", path)
		}
		return nil
	})
}

// TestStopWaits: an answer under way comes to its end when the gateway is stopped.
func TestStopWaits(t *testing.T) {
	p := newPlace(t)
	p.up.Step = make(chan struct{})
	g := p.serve()
	c := g.open("run", budget.Limits{})
	r, err := say(c, "hello", true)
	if err != nil {
		t.Fatal(err)
	}
	g.cmd.Process.Signal(syscall.SIGTERM)
	for { // its control socket is the first to go
		if _, err := g.Door.Status(t.Context()); errors.Is(err, control.ErrNoGateway) {
			break
		}
	}
	close(p.up.Step)
	if status, body := whole(t, r, nil); status != 200 || !strings.Contains(body, "message_stop") {
		t.Errorf("%d: %s", status, body)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestKilled: a gateway that is killed in the middle of an answer is followed by one that has its doors at the same place,
// and for which what was under way counts as spent.
func TestKilled(t *testing.T) {
	p := newPlace(t)
	p.up.Step = make(chan struct{})
	g := p.serve()
	two := int64(2)
	c := g.open("run", budget.Limits{Requests: &two})
	r, err := say(c, "hello", true)
	if err != nil {
		t.Fatal(err)
	}
	g.cmd.Process.Kill()
	g.cmd.Wait()
	if _, err := io.ReadAll(r.Body); err == nil {
		t.Error("an answer that was cut off looks whole")
	}
	r.Body.Close()
	close(p.up.Step)
	next := p.serve()
	doors, err := next.Door.Doors(t.Context())
	if err != nil || len(doors) != 1 {
		t.Fatalf("the doors are %+v: %v", doors, err)
	}
	for i, want := range []int{200, 400} {
		r, err := say(child(t, doors[0].Socket), "hello", false)
		if status, body := whole(t, r, err); status != want {
			t.Errorf("request %d: %d: %s", i, status, body)
		}
	}
}

// TestOneAtATime: a second gateway of a state directory ends, and says which process has it.
func TestOneAtATime(t *testing.T) {
	p := newPlace(t)
	g := p.serve()
	out, err := p.command("serve", "--state", p.path("state"), "--config", p.path("gateway.yaml")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint(g.cmd.Process.Pid)) {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := g.Door.Status(t.Context()); err != nil {
		t.Errorf("the first one: %v", err)
	}
}

func TestStateOfOthers(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(p.path("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.path("state"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := p.command("serve", "--state", p.path("state")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "chmod 700") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTry: what is wrong is said in words, and the credential is in none of them.
func TestTry(t *testing.T) {
	p := newPlace(t)
	try := func(args ...string) (string, error) {
		out, err := p.command(append([]string{"try", "--config", p.path("gateway.yaml")}, args...)...).CombinedOutput()
		if strings.Contains(string(out), secret) {
			t.Errorf("it says the credential: %s", out)
		}
		return string(out), err
	}
	for _, test := range []struct {
		name   string
		args   []string
		change func()
		ok     bool
		says   string
	}{
		{"all is well", []string{"claude"}, func() {}, true, "the upstream answers"},
		{"a model that is not there", []string{"claude", "--model", "gone"}, func() {}, false, "does not know the model"},
		{"another route", []string{"cloude"}, func() {}, false, "did you mean claude?"},
		{"the stand-in", []string{"claude", "--stand-in"}, func() {}, true, "charged 8 tokens in, 12 out"},
		{"no credential", []string{"claude"}, func() { os.Remove(p.path("key")) }, false, "credential"},
		{"the stand-in needs none", []string{"claude", "--stand-in"}, func() {}, true, "stand-in answers"},
	} {
		test.change()
		out, err := try(test.args...)
		if (err == nil) != test.ok || !strings.Contains(out, test.says) {
			t.Errorf("%s: %v: %s", test.name, err, out)
		}
	}
}

// TestNoCore: the kernel keeps no memory of a gateway, and shows it to no other process of its user.
func TestNoCore(t *testing.T) {
	g := newPlace(t).serve()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", g.cmd.Process.Pid))
	if err != nil {
		t.Skip("there is no /proc here")
	}
	for line := range strings.Lines(string(limits)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && (fields[4] != "0" || fields[5] != "0") {
			t.Errorf("a core file is written: %s", line)
		}
	}
}

func TestEvents(t *testing.T) {
	g := newPlace(t).serve()
	c := g.open("run", budget.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 3 {
		r, err := say(c, "hello", false)
		whole(t, r, err)
		if i == 0 {
			continue
		}
		err = g.Door.Events(ctx, int64(i), func(e gateway.Event) error {
			if e.Number != int64(i+1) || e.Usage.Input != standin.InputTokens || e.Cost.Requests != 1 {
				t.Errorf("the event is %+v", e)
			}
			return io.EOF
		})
		if err != io.EOF {
			t.Error(err)
		}
	}
}
