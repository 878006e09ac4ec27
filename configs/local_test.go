package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/sandbox/launchers"
)

func TestLocal(t *testing.T) {
	emptyEnvironment(t)
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	c, warnings, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: "outbox"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	o, p := c.Outboxes[0], c.Profiles[0]
	if o.Dir != filepath.Join(here, "outbox") || !slices.Equal(o.Allow, []string{filepath.Join(here, "outbox/workspaces")}) {
		t.Errorf("the outbox is %+v", o)
	}
	if !p.RootFS.Host || p.Sandbox != SandboxAuto || len(p.Command) != 0 || !slices.Equal(o.Profiles, []string{p.Name}) {
		t.Errorf("the profile is %+v", p)
	}
	if want := "/home/operator/.local/state/torno/" + shortHash(o.Dir); c.State != want {
		t.Errorf("the state is in %s, want %s", c.State, want)
	}
	again, _, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: here + "/./outbox/"})
	if err != nil || again.Outboxes[0].Name != o.Name || !nameForm.MatchString(o.Name) {
		t.Errorf("the name %s is not stable: %s, %v", o.Name, again.Outboxes[0].Name, err)
	}
	c.local = false // no file says this
	checkRoundTrip(t, "local", c)
}

func TestLocalWithEverything(t *testing.T) {
	emptyEnvironment(t)
	t.Chdir(t.TempDir())
	c, _, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{
		Dir: "/srv/box", Allow: []string{"w", "/srv/w"}, Read: []string{"r"}, Image: "debian:12", State: "state", MaxRunning: 3,
		Command: []string{"agent", "--", "{{.Task}}"}, Sandbox: "docker",
	})
	if err != nil {
		t.Fatal(err)
	}
	o, p := c.Outboxes[0], c.Profiles[0]
	if c.MaxRunning != 3 || o.MaxRunning != 3 || !filepath.IsAbs(c.State) || filepath.Base(c.State) != "state" {
		t.Errorf("the configuration is %+v", c)
	}
	if !filepath.IsAbs(o.Allow[0]) || o.Allow[1] != "/srv/w" || !filepath.IsAbs(o.Read[0]) {
		t.Errorf("the roots are %v and %v", o.Allow, o.Read)
	}
	if p.RootFS.Host || p.RootFS.Image != "debian:12" || strings.Join(p.Command, " ") != "agent -- {{.Task}}" {
		t.Errorf("the profile is %+v", p)
	}
}

// TestAPlaceIsAnImageToo: --image takes what rootfs does, and --sandbox what can be done with it.
func TestAPlaceIsAnImageToo(t *testing.T) {
	emptyEnvironment(t)
	c, _, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: "/srv/box", Image: "dir:/srv/root"})
	if err != nil {
		t.Fatal(err)
	}
	if form, path, ok := c.Profiles[0].RootFS.Place(); !ok || form != "dir" || path != "/srv/root" {
		t.Errorf("the root file system is %+v", c.Profiles[0].RootFS)
	}
	c.local = false // no file says this
	checkRoundTrip(t, "local", c)
	_, _, err = localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: "/srv/box", Image: "dir:/srv/root", Sandbox: "docker"})
	if err == nil || !strings.Contains(err.Error(), "only gVisor") {
		t.Errorf("with Docker: %v", err)
	}
}

func TestLocalRefuses(t *testing.T) {
	emptyEnvironment(t)
	for want, options := range map[string]LocalOptions{
		"name the outbox: watcher run --dir DIR":                   {},
		"the name of a directory is empty":                         {Dir: "/srv/box", Allow: []string{""}},
		"/etc is, holds or lies in /etc of this machine's system":  {Dir: "/srv/box", Allow: []string{"/etc"}},
		"/srv/box is the outbox itself":                            {Dir: "/srv/box", Allow: []string{"/srv/box"}},
		"max_running: -1 is out of range; allowed are 1 to 10000":  {Dir: "/srv/box", MaxRunning: -1},
		`"firecracker" is not allowed; allowed are docker`:         {Dir: "/srv/box", Sandbox: "firecracker"},
		"unknown placeholder {{.Tsk}}; did you mean {{.Task}}?":    {Dir: "/srv/box", Command: []string{"{{.Tsk}}"}},
		`profiles.default.image: "-v" is not the name of an image`: {Dir: "/srv/box", Image: "-v"},
		"/srv/box is, holds or lies in the state directory /srv/b": {Dir: "/srv/box", State: "/srv/box/state"},
	} {
		if _, _, err := localOn(host{os.Getenv, 4}, launchers.All, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", options, err, want)
		}
	}
}

// TestTheOutboxOfLocalNeedNotBeThere: watcher run --dir makes it. A file in its place is a mistake.
func TestTheOutboxOfLocalNeedNotBeThere(t *testing.T) {
	emptyEnvironment(t)
	t.Chdir(t.TempDir())
	c, _, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: "outbox"})
	if err != nil {
		t.Fatal(err)
	}
	told := func() string {
		warnings, err := c.CheckHost()
		return strings.Join(append(texts(warnings), fmt.Sprint(err)), "\n")
	}
	if said := told(); strings.Contains(said, "outbox") {
		t.Errorf("without the outbox: %s", said)
	}
	c.Outboxes[0].Read = []string{filepath.Join(c.Outboxes[0].Dir, "context")}
	if said := told(); !strings.Contains(said, "/outbox/context is not there; until it is, requests for it are refused") {
		t.Errorf("without a root that nobody makes: %s", said)
	}
	if err := os.WriteFile("outbox", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := told(); !strings.Contains(said, "/outbox is not a directory") {
		t.Errorf("with a file in its place: %s", said)
	}
}

func texts(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}
