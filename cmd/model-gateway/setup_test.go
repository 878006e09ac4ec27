package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"torno/internal/gateway/control"
	"torno/internal/gateway/setup"
	"torno/internal/retry"
)

// said is the text of a place's configuration.
func (p *place) said() []byte {
	p.Helper()
	text, err := os.ReadFile(p.path("gateway.yaml"))
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// TestToldRoutes: a gateway without a file has the routes that a watcher said last, also after it was killed, and what it does not
// understand changes nothing.
func TestToldRoutes(t *testing.T) {
	p := newPlace(t)
	g := p.serveWith()
	if status, err := g.Door.Status(t.Context()); err != nil || len(status.Routes) != 0 || status.Setup != control.Digest(nil) {
		t.Fatalf("begins with %+v, %v", status, err)
	}
	text := p.said()
	has := func(g *gatewayProcess) {
		t.Helper()
		status, err := g.Door.Status(t.Context())
		if err != nil || !slices.Equal(status.Routes, []string{"claude"}) || status.Setup != control.Digest(text) {
			t.Errorf("it has %+v, %v", status, err)
		}
	}
	if _, err := g.Door.Configure(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	has(g)
	for wrong, says := range map[string]string{
		"routes: {a: {preset: anthropik}}":                                    `did you mean "anthropic"?`,
		"routes: {a: {preset: anthropic, roots: " + p.path("gone.pem") + "}}": "gone.pem",
		"{": "yaml",
	} {
		if _, err := g.Door.Configure(t.Context(), []byte(wrong)); !errors.Is(err, control.ErrSetup) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	has(g)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.cmd.Wait()
	if info, err := os.Stat(p.path("state/" + setup.FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it wrote %v, %v", info, err)
	}
	has(p.serveWith())
}

// TestSaidIsDamaged: a gateway that could not start could not be told either.
func TestSaidIsDamaged(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(p.path("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("state/"+setup.FileName, "routes: [")
	g := p.serveWith()
	if status, err := g.Door.Configure(t.Context(), p.said()); err != nil || len(status.Routes) != 1 {
		t.Errorf("it has %+v, %v", status, err)
	}
}

// TestOwnFile: two that say the routes would undo each other's.
func TestOwnFile(t *testing.T) {
	p := newPlace(t)
	g := p.serve()
	if _, err := g.Door.Configure(t.Context(), []byte("routes: {}")); !errors.Is(err, control.ErrOwnSetup) {
		t.Errorf("it took other routes: %v", err)
	}
	if status, err := g.Door.Status(t.Context()); err != nil || len(status.Routes) != 1 || status.Setup != control.Digest(p.said()) {
		t.Errorf("it has %+v, %v", status, err)
	}
}

// TestLogFile: what a gateway says that nothing listens to.
func TestLogFile(t *testing.T) {
	p := newPlace(t)
	cmd := p.command("serve", "--state", p.path("state"), "--log", p.path("log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := control.Dial(p.path("state"))
	defer c.Close()
	for {
		if _, err := c.Status(t.Context()); err == nil {
			break
		} else if !errors.Is(err, control.ErrNoGateway) {
			t.Fatal(err)
		}
		if err := retry.Pause(t.Context(), retry.Later); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if text, err := os.ReadFile(p.path("log")); err != nil || !strings.Contains(string(text), `"msg":"serving"`) {
		t.Errorf("it logged %q, %v", text, err)
	}
}

// TestToldToStop: the process ends as it does for SIGTERM.
func TestToldToStop(t *testing.T) {
	g := newPlace(t).serveWith()
	if status, err := g.Door.Stop(t.Context()); err != nil || status.Process != g.cmd.Process.Pid {
		t.Fatalf("%+v, %v", status, err)
	}
	g.log.until(t, `"stopped"`)
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
