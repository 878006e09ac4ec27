package configs

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/launcher"
	"torno/sandbox"
)

// machine is a configuration whose directories exist.
func machine(t *testing.T) (Config, string) {
	t.Helper()
	emptyEnvironment(t)
	dir, err := os.MkdirTemp("", "host") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]os.FileMode{"box": 0o755, "box/w": 0o755, "read": 0o755, "state": 0o700} {
		if err := os.Mkdir(filepath.Join(dir, name), mode); err != nil && !os.IsExist(err) {
			if err := os.MkdirAll(filepath.Join(dir, name), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "engine.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c, _ := parsed(t, strings.ReplaceAll(`
version: 1
state: DIR/state
docker: {host: unix://DIR/engine.sock}
init: DIR/init
outboxes: {main: {dir: DIR/box, allow: [DIR/box/w], read: [DIR/read]}}
`, "DIR", dir))
	if err := os.WriteFile(c.Init, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// TestAConfigurationLiesInNoOutbox, by its own name or by where a link leads.
func TestAConfigurationLiesInNoOutbox(t *testing.T) {
	c, dir := machine(t)
	for name, text := range map[string]string{"box/w/c.yaml": "", "c.yaml": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked.yaml": "box/w/c.yaml", "alias": "box"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, fine := range map[string]bool{"c.yaml": true, "box/w/c.yaml": false, "box/c.yaml": false, "alias/c.yaml": false, "linked.yaml": false} {
		c.file = filepath.Join(dir, name)
		_, err := c.CheckHost()
		if (err == nil) != fine || !fine && !strings.Contains(err.Error(), "lies in this outbox") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckHost(t *testing.T) {
	c, _ := machine(t)
	if warnings, err := c.CheckHost(); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %v, error %v", warnings, err)
	}
}

// TestCheckHostFinds changes the machine or the configuration, one thing at a time.
func TestCheckHostFinds(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		change func(c *Config, dir string)
		want   string // DIR stands for the directory
	}{
		"open state":              {func(c *Config, dir string) { must(os.Chmod(c.State, 0o750)) }, "state: DIR/state is open to others (0750); run: chmod 700 DIR/state"},
		"state file":              {func(c *Config, dir string) { c.State = c.Init }, "state: DIR/init is not a directory"},
		"no engine":               {func(c *Config, dir string) { c.Set("docker", "host", c.SettingsOf("docker").Text("host")+"x") }, "docker.host: DIR/engine.sockx is not there; where a service makes it at boot, have the watcher's service wait for that: systemctl edit torno-watcher"},
		"engine file":             {func(c *Config, dir string) { c.Set("docker", "host", launcher.Scheme+c.Init) }, "docker.host: DIR/init is not a socket"},
		"no init":                 {func(c *Config, dir string) { must(os.Remove(c.Init)) }, "init: cannot be looked at"},
		"init no program":         {func(c *Config, dir string) { must(os.Chmod(c.Init, 0o644)) }, "init: DIR/init is not a program"},
		"no runsc":                {func(c *Config, dir string) { c.Set("gvisor", "runsc", dir+"/none") }, "gvisor.runsc: cannot be looked at"},
		"keeper is a directory":   {func(c *Config, dir string) { c.Set("gvisor", "keeper", dir) }, "gvisor.keeper: DIR is not a program"},
		"no system":               {rootedIn("dir:DIR/none"), "profiles.default.rootfs: cannot be looked at"},
		"a system that is a file": {rootedIn("oci:DIR/init"), "profiles.default.rootfs: DIR/init is not a directory"},
		"an archive that is none": {rootedIn("archive:DIR/read"), "profiles.default.rootfs: DIR/read is not a file"},
		"no root":                 {func(c *Config, dir string) { c.Outboxes[0].Read[0] += "x" }, "outboxes.main.read[0]: cannot be looked at"},
		"root file":               {func(c *Config, dir string) { c.Outboxes[0].Read[0] = c.Init }, "outboxes.main.read[0]: DIR/init is not a directory"},
		"many cpus":               {func(c *Config, dir string) { c.Profiles[0].Limits.CPUs = 4500 }, "profiles.default.limits.cpus: 4.5 are more than the 4 of this machine"},
		"root is a link to the state": {func(c *Config, dir string) {
			must(os.Remove(filepath.Join(dir, "read")))
			must(os.Symlink("state", filepath.Join(dir, "read")))
		}, "outboxes.main.read[0]: DIR/state is, holds or lies in the state directory DIR/state"},
		"root is a link to what holds an outbox": {func(c *Config, dir string) {
			must(os.Mkdir(filepath.Join(dir, "all"), 0o755))
			must(os.Rename(filepath.Join(dir, "box"), filepath.Join(dir, "all", "box")))
			must(os.Remove(filepath.Join(dir, "read")))
			must(os.Symlink("all", filepath.Join(dir, "read")))
			c.Outboxes[0].Dir, c.Outboxes[0].Allow = filepath.Join(dir, "all", "box"), []string{filepath.Join(dir, "all", "box", "w")}
		}, "outboxes.main.read[0]: DIR/read holds outbox main by another name than DIR/all/box; write both without links"},
		"root holds an outbox that has another name": {func(c *Config, dir string) {
			must(os.Mkdir(filepath.Join(dir, "read", "real"), 0o755))
			must(os.Rename(filepath.Join(dir, "box"), filepath.Join(dir, "read", "real", "box")))
			must(os.Symlink("real", filepath.Join(dir, "read", "link")))
			c.Outboxes[0].Dir, c.Outboxes[0].Allow = filepath.Join(dir, "read", "link", "box"), []string{filepath.Join(dir, "read", "link", "box", "w")}
		}, "outboxes.main.read[0]: DIR/read holds outbox main by another name than DIR/read/link/box; write both without links"},
		"root is a link to the system": {func(c *Config, dir string) {
			must(os.Remove(filepath.Join(dir, "read")))
			must(os.Symlink("/etc", filepath.Join(dir, "read")))
		}, "outboxes.main.read[0]: /etc is, holds or lies in /etc of this machine's system"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := machine(t)
			test.change(&c, dir)
			_, err := c.CheckHost()
			if want := strings.ReplaceAll(test.want, "DIR", dir); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// rootedIn gives the profile a root file system that lies on this machine.
func rootedIn(image string) func(*Config, string) {
	return func(c *Config, dir string) {
		c.Profiles[0].Sandbox = "gvisor"
		c.Profiles[0].RootFS = sandbox.RootFS{Image: strings.ReplaceAll(image, "DIR", dir)}
	}
}

// TestOnlyWhoNeedsAnEngineMissesIt: where profiles take what there is, or need none, a missing socket is no problem.
func TestOnlyWhoNeedsAnEngineMissesIt(t *testing.T) {
	for launcher, missed := range map[string]bool{"docker": true, "gvisor": false, SandboxAuto: false} {
		c, _ := machine(t)
		c.Set("docker", "host", c.SettingsOf("docker").Text("host")+"x")
		c.Profiles[0].Sandbox = launcher
		if _, err := c.CheckHost(); (err != nil) != missed {
			t.Errorf("%s: %v", launcher, err)
		}
	}
	for _, image := range []string{"dir:DIR/read", "oci:DIR/read", "archive:DIR/init"} {
		c, dir := machine(t)
		rootedIn(image)(&c, dir)
		if _, err := c.CheckHost(); err != nil {
			t.Errorf("%s: %v", image, err)
		}
	}
}

func TestCheckHostWarns(t *testing.T) {
	c, dir := machine(t)
	if err := os.Chmod(c.Outboxes[0].Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "read", ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	warnings, err := c.CheckHost()
	if err != nil || len(warnings) != 2 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	if !strings.Contains(warnings[0].Text, "writable for every user") || !strings.Contains(warnings[1].Text, "holds .ssh") {
		t.Errorf("got %v", warnings)
	}
}

// TestARootThatIsNotMounted is no reason to serve nothing: the outbox in which it lies may not be mounted.
func TestARootThatIsNotMounted(t *testing.T) {
	c, _ := machine(t)
	c.Outboxes[0].Allow[0] += "x"
	warnings, err := c.CheckHost()
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, "is not there") {
		t.Errorf("warnings %v, error %v", warnings, err)
	}
}

func TestCheckUIDs(t *testing.T) {
	dir := t.TempDir()
	passwd, subuid := filepath.Join(dir, "passwd"), filepath.Join(dir, "subuid")
	if err := os.WriteFile(passwd, []byte("root:x:0:0::/:/bin/sh\nleased:x:500100:1::/:\nlast:x:501001:1::/:\nnext:x:501002:1::/:\nbroken\n:\nshort:x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(subuid, []byte("a:100000:65536\nb:499000:1001\nc:500999:1\nd:501002:9\ne:x:y\nf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, r := Config{UIDs: UIDs{500_000, 1000}}, &report{noLines: true}
	c.checkUIDs(r, passwd, subuid)
	c.checkUIDs(r, filepath.Join(dir, "none"), filepath.Join(dir, "none"))
	var got []string
	for _, w := range r.warnings {
		got = append(got, w.Text)
	}
	want := "user leased has uid 500100, which is in the range of the sandboxes|" +
		"user last has uid 501001, which is in the range of the sandboxes|" +
		subuid + " of b, 499000 to 500000, is in the range of the sandboxes|" +
		subuid + " of c, 500999 to 500999, is in the range of the sandboxes"
	if strings.Join(got, "|") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "|"), want)
	}
}
