package serve

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	gatewaycontrol "torno/internal/gateway/control"
	"torno/internal/gateway/process"
	"torno/sandbox/launchers"
	"torno/test/upstream/standin"
)

// builtGateway is the program, made once for all tests.
var builtGateway = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model-gateway")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "torno/cmd/model-gateway")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(path)
})

// withGateway gives the shop the program of a gateway, and routes.
func withGateway(t *testing.T, routes string) *shop {
	t.Helper()
	program, err := builtGateway()
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	s.must(os.WriteFile(filepath.Join(s.dir, "bin", "model-gateway"), program, 0o755))
	s.config = s.routed(routes)
	s.timing.Gateway = 20 * time.Millisecond
	t.Cleanup(s.endGateway)
	return s
}

// routed is the shop's configuration with other routes.
func (s *shop) routed(gateway string) configs.Config {
	s.Helper()
	plain := s.config
	plain.Gateway = configs.Gateway{}
	text, err := plain.Marshal()
	s.must(err)
	c, _, err := configs.Parse(launchers.All, "c.yaml", append(text, "gateway: "+gateway+"\n"...))
	s.must(err)
	return c
}

func (s *shop) gateway() *gatewaycontrol.Client {
	c := gatewaycontrol.Dial(s.config.GatewayState())
	s.Cleanup(c.Close)
	return c
}

// routes waits until the gateway has these, and returns its process.
func (s *shop) routes(want ...string) int {
	s.Helper()
	client := s.gateway()
	var status gatewaycontrol.Status
	s.eventually("the gateway has "+strings.Join(want, ", "), func() (ok bool) {
		var err error
		status, err = client.Status(s.Context())
		return err == nil && slices.Equal(status.Routes, want)
	})
	return status.Process
}

// endGateway ends what outlives the host, and waits until it has gone.
func (s *shop) endGateway() {
	client := gatewaycontrol.Dial(s.config.GatewayState())
	defer client.Close()
	status, err := client.Status(context.Background()) // the test's own is over
	if err != nil {
		return
	}
	s.must(syscall.Kill(status.Process, syscall.SIGKILL))
	s.gone(status.Process)
}

// gone waits until a process is no more, not even as a zombie.
func (s *shop) gone(pid int) {
	s.Helper()
	s.eventually("the process ends", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// certificate is any.
func certificate() []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

const claude = "{routes: {claude: {preset: anthropic}}}"

// TestTheGatewayComesBack: it is started, has its routes, and is started again when it is killed.
func TestTheGatewayComesBack(t *testing.T) {
	s := withGateway(t, claude)
	ended := s.open()
	first := s.routes("claude")
	if group, err := syscall.Getpgid(first); err != nil || group == syscall.Getpgrp() {
		t.Errorf("it is in the group %d, which a terminal's interrupt would reach: %v", group, err)
	}
	s.must(syscall.Kill(first, syscall.SIGKILL))
	s.gone(first)
	if second := s.routes("claude"); second == first {
		t.Error("it is the same one")
	}
	s.eventually("its end is said", func() bool { return strings.Contains(s.said.String(), "the model gateway has ended") })
	if info, err := os.Stat(filepath.Join(s.config.GatewayState(), process.LogName)); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("its log: %v, %v", info, err)
	}
	s.stop(ended)
}

// TestTheGatewayOutlivesTheWatcher, and the next one takes it as it is, and looks after it, though it is no child of its own.
func TestTheGatewayOutlivesTheWatcher(t *testing.T) {
	s := withGateway(t, claude)
	ended := s.open()
	first := s.routes("claude")
	s.stop(ended)
	if pid := s.routes("claude"); pid != first {
		t.Fatalf("process %d serves, and %d before the watcher ended", pid, first)
	}
	s.said.reset()
	ended = s.open()
	if pid := s.routes("claude"); pid != first || strings.Contains(s.said.String(), "the model gateway serves") || strings.Contains(s.said.String(), "was told its routes") {
		t.Errorf("the next watcher has process %d, and not %d:\n%s", pid, first, &s.said)
	}
	s.must(syscall.Kill(first, syscall.SIGKILL))
	s.gone(first)
	s.routes("claude")
	s.stop(ended)
}

// TestTheGatewayEndsWithItsWatcher where the watcher wants that, and not while a child that still runs has a door.
func TestTheGatewayEndsWithItsWatcher(t *testing.T) {
	s := withGateway(t, claude)
	s.quick = true
	ended := s.open()
	pid := s.routes("claude")
	client := s.gateway()
	_, err := client.Open(t.Context(), gateway.Spec{
		ID: "child", Lasts: gateway.Duration(time.Hour), Peer: gateway.Peer{Anyone: true}, Routes: []gateway.Way{{Route: "claude"}},
		Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: "child"}}},
	})
	s.must(err)
	s.stop(ended)
	if now := s.routes("claude"); now != pid || !strings.Contains(s.said.String(), "the model gateway keeps running") {
		t.Errorf("process %d serves, and %d before:\n%s", now, pid, &s.said)
	}
	_, err = client.CloseDoor(t.Context(), "child")
	s.must(err)
	s.said.reset()
	s.stop(s.open())
	s.gone(pid)
	if _, err := client.Status(t.Context()); !errors.Is(err, gatewaycontrol.ErrNoGateway) || !strings.Contains(s.said.String(), "the model gateway was ended, too") {
		t.Errorf("its status is %v:\n%s", err, &s.said)
	}
}

// TestAGatewayThatNobodyWants: a start by hand without routes ends the gateway of the start before.
func TestAGatewayThatNobodyWants(t *testing.T) {
	s := withGateway(t, claude)
	ended := s.open()
	pid := s.routes("claude")
	s.stop(ended)
	s.config, s.quick = s.routed("{}"), true
	s.said.reset()
	s.stop(s.open())
	s.gone(pid)
	if _, err := s.gateway().Status(t.Context()); !errors.Is(err, gatewaycontrol.ErrNoGateway) || !strings.Contains(s.said.String(), "of an earlier start was ended") {
		t.Errorf("its status is %v:\n%s", err, &s.said)
	}
}

// TestTheGatewayIsToldAtAReload: the routes of the new configuration, in the same process. Routes that the gateway cannot open leave
// the old ones, and are told again until it can.
func TestTheGatewayIsToldAtAReload(t *testing.T) {
	s := withGateway(t, claude)
	roots := filepath.Join(s.dir, "roots.pem")
	next := s.routed("{routes: {claude: {preset: anthropic}, npm: {preset: npm}}}")
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	first := s.routes("claude")
	s.signals <- syscall.SIGHUP
	if pid := s.routes("claude", "npm"); pid != first {
		t.Errorf("another process has them: %d, and not %d", pid, first)
	}
	next = s.routed("{routes: {other: {preset: anthropic, roots: " + roots + "}}}")
	s.signals <- syscall.SIGHUP
	s.eventually("clients are told", func() bool { return slices.Contains(s.notices(), delegation.NoticeGateway) })
	s.routes("claude", "npm")
	s.eventually("the log says why", func() bool { return strings.Contains(s.said.String(), "roots.pem") })
	s.must(os.WriteFile(roots, certificate(), 0o600))
	s.routes("other")
	s.eventually("that is over", func() bool { return !slices.Contains(s.notices(), delegation.NoticeGateway) })
	next = s.routed("{}")
	s.signals <- syscall.SIGHUP
	s.routes()
	s.stop(ended)
}

// notices are what the outbox's clients are told.
func (s *shop) notices() (codes []delegation.NoticeCode) {
	status, err := control.Dial(s.config.State).Status(s.Context())
	if err != nil || len(status.Outboxes) == 0 {
		return nil
	}
	for _, n := range status.Outboxes[0].Notices {
		codes = append(codes, n.Code)
	}
	return codes
}

// TestAVendorThatCannotBeReached: the watcher tells at its start, before any child needs the vendor, and takes that back when the vendor answers.
func TestAVendorThatCannotBeReached(t *testing.T) {
	var away atomic.Bool
	up := standin.New(routeKey)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		up.ServeHTTP(w, r)
	}))
	defer server.Close()
	s := withGateway(t, claude)
	key := filepath.Join(s.dir, "key")
	s.must(os.WriteFile(key, []byte(routeKey), 0o600))
	s.config = s.routed(fmt.Sprintf("{routes: {model: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}}}", server.URL, key))
	away.Store(true)
	ended := s.open()
	s.eventually("the operator is told", func() bool { return strings.Contains(s.said.String(), "a route does not work") })
	if said := s.said.String(); !strings.Contains(said, "route=model") || !strings.Contains(said, "it cannot be reached") {
		t.Errorf("it says: %s", said)
	}
	s.eventually("clients are told", func() bool { return slices.Contains(s.notices(), delegation.NoticeRoute) })
	pid := s.routes("model")
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	s.gone(pid)
	s.routes("model")
	s.eventually("the next gateway has tried it", func() bool {
		status, err := s.gateway().Status(t.Context())
		return err == nil && len(status.Troubles) == 1
	})
	if strings.Contains(s.said.String(), "a route works again") || !slices.Contains(s.notices(), delegation.NoticeRoute) {
		t.Errorf("another gateway has no trouble yet, and it says: %s", &s.said)
	}
	away.Store(false)
	s.eventually("all are told that it works, though no child asked for it", func() bool {
		return strings.Contains(s.said.String(), "a route works again") && !slices.Contains(s.notices(), delegation.NoticeRoute)
	})
	s.stop(ended)
}

// TestWithoutAGateway: the watcher serves, and says what is missing until it is there.
func TestWithoutAGateway(t *testing.T) {
	s := withGateway(t, claude)
	program := filepath.Join(s.dir, "bin", "model-gateway")
	s.must(os.Rename(program, program+".away"))
	ended := s.open()
	s.eventually("clients are told", func() bool { return slices.Contains(s.notices(), delegation.NoticeGateway) })
	s.ask("s1", "echo hello")
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("a run without routes: %+v", r)
	}
	s.must(os.WriteFile(program, []byte("#!/bin/sh\necho no such luck >&2\nexit 3\n"), 0o755))
	s.eventually("what the program says is said", func() bool { return strings.Contains(s.said.String(), "no such luck") })
	s.must(os.Remove(program))
	s.must(os.Rename(program+".away", program))
	s.routes("claude")
	s.eventually("that is over", func() bool { return !slices.Contains(s.notices(), delegation.NoticeGateway) })
	s.stop(ended)
}

// TestAGatewayThatNeverAnswers: it takes calls, and holds up no start, no reload, no run without routes and no end.
func TestAGatewayThatNeverAnswers(t *testing.T) {
	s := withGateway(t, claude)
	s.timing.Patience = time.Hour
	dir := filepath.Join(s.dir, "theirs")
	s.must(os.Mkdir(dir, 0o700))
	listener, err := net.Listen("unix", filepath.Join(dir, gatewaycontrol.SocketName))
	s.must(err)
	defer listener.Close() // what it has taken is never read
	hangs := s.routed("{state: " + dir + ", routes: {claude: {preset: anthropic}}}")
	s.config = hangs
	ended := s.reloads(func() (configs.Config, error) { return hangs, nil })
	for _, id := range []string{"s1", "s2"} {
		s.ask(id, "echo hello")
		if r := s.answer(id); r.Status != delegation.StatusCompleted {
			t.Errorf("%s: %+v", id, r)
		}
		s.signals <- syscall.SIGHUP
	}
	s.stop(ended)
}

// TestAGatewayOfAnother is used and told its routes, and not started where it is gone.
func TestAGatewayOfAnother(t *testing.T) {
	s := withGateway(t, claude)
	dir := filepath.Join(s.dir, "theirs")
	serve := func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(s.dir, "bin", "model-gateway"), "serve", "--state", dir)
		s.must(cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	cmd := serve()
	s.config = s.routed("{state: " + dir + ", routes: {claude: {preset: anthropic}}}")
	ended := s.open()
	if pid := s.routes("claude"); pid != cmd.Process.Pid {
		t.Errorf("process %d serves", pid)
	}
	s.must(cmd.Process.Kill())
	cmd.Wait()
	s.eventually("clients are told", func() bool { return slices.Contains(s.notices(), delegation.NoticeGateway) })
	if _, err := s.gateway().Status(t.Context()); !errors.Is(err, gatewaycontrol.ErrNoGateway) {
		t.Errorf("there is one again: %v", err)
	}
	cmd = serve()
	s.eventually("that is over", func() bool { return !slices.Contains(s.notices(), delegation.NoticeGateway) })
	if pid := s.routes("claude"); pid != cmd.Process.Pid {
		t.Errorf("process %d serves", pid)
	}
	s.stop(ended)
	if _, err := os.Lstat(filepath.Join(s.config.State, "gateway")); err == nil {
		t.Error("the watcher made a directory for a gateway of its own")
	}
}

// TestPurgeEndsTheGateway: with its watcher gone and its sandboxes removed it would hold credentials for nothing.
func TestPurgeEndsTheGateway(t *testing.T) {
	s := withGateway(t, claude)
	ended := s.open()
	pid := s.routes("claude")
	s.stop(ended)
	for range 2 { // the second time there is none
		i, err := LockInstallation(t.Context(), s.config.State, "the test")
		s.must(err)
		s.must(i.Purge(t.Context(), s.config, s.launchers(), s.options().Log))
		s.must(i.Unlock())
		s.gone(pid)
	}
}
