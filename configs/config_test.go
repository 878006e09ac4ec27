package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"torno/sandbox/compile"
	"torno/sandbox/launchers"
)

// readOnFour is Parse on a machine of four processors, so that a test reads the same on every machine.
func readOnFour(name string, data []byte) (Config, []Warning, error) {
	return parse(launchers.All, &report{file: name, lines: make(map[string]int)}, data, host{os.Getenv, 4})
}

// parsed parses a configuration that has to load.
func parsed(t *testing.T, text string) (Config, []Warning) {
	t.Helper()
	c, warnings, err := readOnFour("c.yaml", []byte(text))
	if err != nil {
		t.Fatalf("does not load:\n%v", err)
	}
	return c, warnings
}

func TestWarnings(t *testing.T) {
	emptyEnvironment(t)
	_, warnings := parsed(t, `
version: 1
state: /var/lib/torno
max_running: 4
profiles:
  p:
    image: agent:latest
    pull: true
    command: [agent, -p, "{{.Task}}"]
    limits: {memory: 1GiB}
    env: {ANTHROPIC_API_KEY: x, BOT_TOKENS: a1, BOT_TOKEN: "1234", GITHUB_TOKEN: "", MAX_OUTPUT_TOKENS: "32000", PLAIN: y}
outboxes:
  one: {dir: /srv/one, allow: [/srv/shared]}
  two: {dir: /srv/two, allow: [/srv/two/workspaces, /srv/shared/part], max_running: 5}
`)
	want := []string{
		`c.yaml:7: profiles.p.image: agent:latest may be another image tomorrow; NAME@sha256:DIGEST stays the same`,
		`c.yaml:9: profiles.p.command[2]: a task that begins with "-" may be read as an option here; put "--" before it, or use {{.TaskFile}}`,
		`c.yaml:10: profiles.p.limits: tmp, home and shm hold 1088MiB together and count as memory, but the limit of memory is 1GiB`,
		`c.yaml:11: profiles.p.env.ANTHROPIC_API_KEY: looks like a secret: every child of this profile can read it and write it into its answer; a socket can give access without one`,
		`c.yaml:11: profiles.p.env.BOT_TOKEN: looks like a secret: every child of this profile can read it and write it into its answer; a socket can give access without one`,
		`c.yaml:11: profiles.p.env.BOT_TOKENS: looks like a secret: every child of this profile can read it and write it into its answer; a socket can give access without one`,
		`c.yaml:14: outboxes.two.max_running: 5 is more than the 4 of all outboxes together`,
		`c.yaml:14: outboxes.two.allow[1]: /srv/shared/part is shared with outbox one: each parent can change the work of the other parent's children`,
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTimeoutsFollowWhatIsGiven(t *testing.T) {
	emptyEnvironment(t)
	for given, want := range map[string]compile.Timeouts{
		"{}":                           {Default: 5 * time.Minute, Min: time.Second, Max: time.Hour},
		"{max: 60}":                    {Default: time.Minute, Min: time.Second, Max: time.Minute},
		"{min: 10m}":                   {Default: 10 * time.Minute, Min: 10 * time.Minute, Max: time.Hour},
		"{min: 2h}":                    {Default: 2 * time.Hour, Min: 2 * time.Hour, Max: 2 * time.Hour},
		"{default: 3h}":                {Default: 3 * time.Hour, Min: time.Second, Max: 3 * time.Hour},
		"{default: 1h30m, max: 720h}":  {Default: 90 * time.Minute, Min: time.Second, Max: 720 * time.Hour},
		"{default: 1500ms, min: 1.2s}": {Default: 1500 * time.Millisecond, Min: 1200 * time.Millisecond, Max: time.Hour},
	} {
		c, _ := parsed(t, "version: 1\nprofiles: {p: {timeout: "+given+"}}\noutboxes: {o: {dir: /srv/o, allow: [/srv/w]}}\n")
		if got := c.Profiles[0].Timeout; got != want {
			t.Errorf("%s: got %+v, want %+v", given, got, want)
		}
		checkRoundTrip(t, given, c)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "1KiB": 1024, "1kB": 1000, "1.5GiB": 3 << 29, "2 GB": 2e9, "1TiB": 1 << 40, "0.5KB": 500, "1.001KB": 1001,
	} {
		if got, ok := parseSize(text); !ok || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "GiB", "1gib", "1 000", "1,5GiB", "0x10", "1e3", "+1", "1GiB ", "9000000TiB", "1m", "512M"} {
		if got, ok := parseSize(text); ok {
			t.Errorf("%q is %d, want no size", text, got)
		}
	}
	for bytes, want := range map[int64]string{0: "0", 1: "1", 1000: "1KB", 1024: "1KiB", 1536: "1536", 3 << 29: "1536MiB", 5e9: "5GB"} {
		if got := showSize(bytes); got != want {
			t.Errorf("%d is shown as %s, want %s", bytes, got, want)
		}
	}
}

func TestSpansAreShownShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h1s", 10 * time.Second: "10s", 10 * time.Minute: "10m",
		720 * time.Hour: "30d", 24 * time.Hour: "24h", 49 * time.Hour: "49h", 1500 * time.Millisecond: "1.5s", 100 * time.Millisecond: "100ms", time.Minute: "1m",
	} {
		if got := showSpan(d); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
}

func TestPolicies(t *testing.T) {
	emptyEnvironment(t)
	c, _ := parsed(t, `
version: 1
state: /var/lib/torno
docker: {host: unix:///srv/engine/d.sock}
profiles: {a: {}, b: {}}
outboxes:
  one:
    dir: /srv/one/
    allow: [/srv/one//workspaces]
    profiles: [b, a]
    read_allowed: false
    owners: [1000]
    paths: [{parent: /outbox, here: /srv/one}, {parent: /same}]
  two: {dir: /srv/two, allow: [/srv/w], read: [/srv/r], profiles: [a]}
`)
	policies := c.Policies()
	one := policies[0]
	if one.Outbox != "one" || one.Dir != "/srv/one" || one.Allow[0] != "/srv/one/workspaces" || !one.StrictRead || one.Owners[0] != 1000 {
		t.Errorf("the policy of one is %+v", one)
	}
	if len(one.Profiles) != 2 || one.Profiles[0].Name != "b" || one.Profiles[1].Name != "a" {
		t.Errorf("one offers %+v", one.Profiles)
	}
	wantPaths := []compile.PathMap{{Parent: "/outbox", Here: "/srv/one", Engine: "/srv/one"}, {Parent: "/same", Here: "/same", Engine: "/same"}}
	if !reflect.DeepEqual(one.Paths, wantPaths) {
		t.Errorf("the paths of one are %+v", one.Paths)
	}
	hidden := strings.Join(one.Hidden, " ")
	for _, kept := range []string{"/var/lib/torno", "/srv/engine/d.sock", "/run/docker.sock", "/srv/two"} {
		if !strings.Contains(hidden+" ", kept+" ") {
			t.Errorf("%s is not hidden from one: %s", kept, hidden)
		}
	}
	if strings.Contains(hidden+" ", "/srv/one ") {
		t.Errorf("the outbox is hidden from itself: %s", hidden)
	}
	if two := policies[1]; two.StrictRead || two.Read[0] != "/srv/r" || len(two.Profiles) != 1 {
		t.Errorf("the policy of two is %+v", two)
	}
}

func TestDefaultState(t *testing.T) {
	one := []Outbox{{Name: "o", Dir: "/srv/o"}}
	for _, test := range []struct {
		env      map[string]string
		outboxes []Outbox
		want     string
	}{
		{map[string]string{"STATE_DIRECTORY": "/var/lib/torno:/var/lib/other", "HOME": "/home/u"}, one, "/var/lib/torno"},
		{map[string]string{"STATE_DIRECTORY": "/var/lib/torno"}, append(one, Outbox{Name: "p", Dir: "/srv/p"}), "/var/lib/torno"},
		{map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/home/u"}, one, "/x/torno/" + shortHash("/srv/o")},
		{map[string]string{"HOME": "/home/u"}, one, "/home/u/.local/state/torno/" + shortHash("/srv/o")},
		{map[string]string{"HOME": "/home/u"}, append(one, Outbox{Name: "p", Dir: "/srv/p"}), ""},
		{map[string]string{"XDG_STATE_HOME": "relative"}, one, ""},
		{nil, one, ""},
	} {
		if got := defaultState(test.outboxes, func(name string) string { return test.env[name] }); got != test.want {
			t.Errorf("%v with %d outboxes: got %q, want %q", test.env, len(test.outboxes), got, test.want)
		}
	}
}

func TestEngineFromTheEnvironment(t *testing.T) {
	emptyEnvironment(t)
	const text = "version: 1\noutboxes: {o: {dir: /srv/o, allow: [/srv/w]}}\n"
	if c, _ := parsed(t, text); c.EngineSockets()[0] != "/var/run/docker.sock" {
		t.Errorf("the default engine is %s", c.EngineSockets())
	}
	t.Setenv("DOCKER_HOST", "unix:///srv/engine.sock")
	if c, _ := parsed(t, text); c.EngineSockets()[0] != "/srv/engine.sock" {
		t.Errorf("DOCKER_HOST was not taken: %s", c.EngineSockets())
	}
	t.Setenv("DOCKER_HOST", "tcp://localhost:2375")
	_, _, err := readOnFour("c.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), `"tcp://localhost:2375" (from DOCKER_HOST) is not of the form`) {
		t.Errorf("a remote engine: %v", err)
	}
}

func TestLoad(t *testing.T) {
	emptyEnvironment(t)
	dir := t.TempDir()
	if _, _, err := Load(launchers.All, filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, _, err := Load(launchers.All, dir); err == nil {
		t.Error("a directory loads")
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte("version: 1\n#"+strings.Repeat("x", maxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(launchers.All, large); err == nil || err.Error() != "read the configuration: "+large+" is larger than 1048576 bytes" {
		t.Errorf("a large file: %v", err)
	}
	good := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(good, example(t, "minimal.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, warnings, err := Load(launchers.All, good); err != nil || len(warnings) > 0 || c.Outboxes[0].Name != "main" {
		t.Errorf("a good file: %+v, %v, %v", c, warnings, err)
	}
}

func TestErrorIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "unknown_%d: {}\n", i)
	}
	_, _, err := readOnFour("c.yaml", []byte(text.String()))
	if err == nil || strings.Count(err.Error(), "\n") != maxShown || !strings.HasSuffix(err.Error(), " more") {
		t.Errorf("got an error of %d bytes", len(err.Error()))
	}
}

// TestValidate has configurations that no file can say.
func TestValidate(t *testing.T) {
	emptyEnvironment(t)
	for want, change := range map[string]func(*Config){
		"state: is missing":                              func(c *Config) { c.State = "" },
		"max_running: 0 is out of range":                 func(c *Config) { c.MaxRunning = 0 },
		"outboxes.main: is here twice":                   func(c *Config) { c.Outboxes = append(c.Outboxes, c.Outboxes[0]) },
		"outboxes.main.dir: is missing":                  func(c *Config) { c.Outboxes[0].Dir = "" },
		"outboxes.main.allow: is missing or empty":       func(c *Config) { c.Outboxes[0].Allow = nil },
		"profiles.default.limits.memory: 0 is out of":    func(c *Config) { c.Profiles[0].Limits.Memory = 0 },
		`profiles.default.sandbox: "vm" is not allowed`:  func(c *Config) { c.Profiles[0].Sandbox = "vm" },
		`docker.host: "ssh://x" is not of the form unix`: func(c *Config) { c.Set("docker", "host", "ssh://x") },
	} {
		c, _ := parsed(t, string(example(t, "minimal.yaml")))
		change(&c)
		if _, err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
