package configs

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox/compile"
)

// toolsMachine is machine with programs in DIR/tools, which a profile names.
func toolsMachine(t *testing.T) (c Config, tools string) {
	t.Helper()
	c, dir := machine(t)
	tools = filepath.Join(dir, "tools")
	for name, content := range map[string]string{"bin/tool": "#!/bin/sh\n", "lib/cli.js": "#!/bin/sh\n", "share/note": ""} {
		writeProgram(t, filepath.Join(tools, name), content)
	}
	c.Profiles[0].Programs = []compile.Programs{{Host: tools, As: tools}}
	return c, tools
}

func writeProgram(t *testing.T, name, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(content), 0o755))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestProgramsOfThisMachine changes what lies at a profile's programs, one thing at a time.
func TestProgramsOfThisMachine(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, tools string) (host string)
		want   string // of the error, or nothing
	}{
		"a directory": {func(_ *testing.T, tools string) string { return tools }, ""},
		"a file":      {func(_ *testing.T, tools string) string { return tools + "/bin/tool" }, ""},
		"none":        {func(_ *testing.T, tools string) string { return tools + "/none" }, "cannot be looked at"},
		"a link": {func(t *testing.T, tools string) string {
			must(t, os.Symlink("../lib/cli.js", tools+"/bin/cli"))
			return tools + "/bin/cli"
		}, "TOOLS/bin/cli is a link to TOOLS/lib/cli.js: name that, or the directory that holds both; links are not followed"},
		"a link on the way": {func(t *testing.T, tools string) string {
			must(t, os.Symlink("bin", tools+"/programs"))
			return tools + "/programs/tool"
		}, "TOOLS/programs is a link; write the path that the link leads to"},
		"a socket": {func(t *testing.T, tools string) string {
			listen(t, tools+"/socket")
			return tools + "/socket"
		}, "TOOLS/socket is neither a directory nor a file"},
		"a home": {func(t *testing.T, tools string) string {
			t.Setenv("HOME", tools)
			return tools
		}, "TOOLS is or holds the home directory of the watcher's user"},
		"what holds a home": {func(t *testing.T, tools string) string {
			t.Setenv("HOME", tools+"/share")
			return tools
		}, "TOOLS is or holds the home directory of the watcher's user"},
		"in a home": {func(t *testing.T, tools string) string {
			t.Setenv("HOME", tools)
			return tools + "/bin"
		}, ""},
		"a directory with a user's keys": {func(t *testing.T, tools string) string {
			must(t, os.Mkdir(tools+"/.ssh", 0o700))
			return tools
		}, "TOOLS holds .ssh, as a user's own directory does"},
		"an agent's credentials": {func(t *testing.T, tools string) string {
			must(t, os.WriteFile(tools+"/.credentials.json", nil, 0o600))
			return tools
		}, "TOOLS holds .credentials.json"},
		"a home that no account has": {func(t *testing.T, tools string) string {
			must(t, os.WriteFile(tools+"/.bashrc", nil, 0o644))
			return tools
		}, "TOOLS holds .bashrc"},
		"everybody may write it": {func(t *testing.T, tools string) string {
			must(t, os.Chmod(tools, 0o777))
			return tools
		}, "TOOLS can be written by others than its owner (mode 0777)"},
		"everybody may write above it": {func(t *testing.T, tools string) string {
			must(t, os.Chmod(tools, 0o777))
			return tools + "/bin"
		}, "TOOLS can be written by others than its owner (mode 0777)"},
	} {
		t.Run(name, func(t *testing.T) {
			c, tools := toolsMachine(t)
			c.Profiles[0].Programs[0].Host = test.change(t, tools)
			warnings, err := c.CheckHost()
			want := "profiles.default.programs[0]: " + strings.ReplaceAll(test.want, "TOOLS", tools)
			if test.want == "" && (err != nil || len(warnings) > 0) || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("got %v and %v, want %s", warnings, err, want)
			}
		})
	}
}

func listen(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
}

// TestProgramsAreClosed: only root runs sandboxes as other users than itself.
func TestProgramsAreClosed(t *testing.T) {
	c, tools := toolsMachine(t)
	must(t, os.Chmod(tools, 0o700))
	warnings, err := c.CheckHost()
	if said := len(warnings) == 1 && strings.Contains(warnings[0].Text, "closed to other users"); err != nil || said != (os.Geteuid() == 0) {
		t.Errorf("warnings %v, error %v", warnings, err)
	}
}

func TestSocketsAndKeysInPrograms(t *testing.T) {
	for _, name := range []string{"share/deep/socket", "share/id_rsa", "share/of/.netrc", "share/.ssh/config"} {
		c, tools := toolsMachine(t)
		if warnings := c.LookThrough(); len(warnings) > 0 {
			t.Errorf("without anything the warnings are %v", warnings)
		}
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(tools, name)), 0o755))
		if filepath.Base(name) == "socket" {
			listen(t, filepath.Join(tools, name))
		} else {
			writeProgram(t, filepath.Join(tools, name), "")
		}
		if warnings := c.LookThrough(); len(warnings) != 1 || !strings.HasPrefix(warnings[0].Text, tools+"/share/") {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}

// TestHiddenCommand: where people install agents, no child looks unless the profile says so. What it should say is said.
func TestHiddenCommand(t *testing.T) {
	for name, test := range map[string]struct {
		command  string
		programs func(tools string) []compile.Programs
		want     string // of the suggestion; "" for no warning
	}{
		"the system's":           {"sh", nil, ""},
		"nowhere":                {"torno-nothing", nil, ""},
		"in bin":                 {"tool", nil, "[TOOLS]"},
		"by its path":            {"TOOLS/bin/tool", nil, "[TOOLS]"},
		"npm's link":             {"cli", nil, "[TOOLS]"},
		"a link that leads away": {"away", nil, "[{host: TOOLS-1.2, as: /usr/local/bin/away}]"},
		"given":                  {"tool", func(tools string) []compile.Programs { return []compile.Programs{{Host: tools, As: "/opt/tools"}} }, ""},
		"given as a file": {"tool", func(tools string) []compile.Programs {
			return []compile.Programs{{Host: tools + "/bin/tool", As: "/usr/local/bin/tool"}}
		}, ""},
		"given, by its path": {"/opt/tools/bin/tool", func(tools string) []compile.Programs { return []compile.Programs{{Host: tools, As: "/opt/tools"}} }, ""},
		"another one is given": {"tool", func(tools string) []compile.Programs {
			return []compile.Programs{{Host: tools + "/share", As: "/opt/tools"}}
		}, "[TOOLS]"},
		"from somewhere relative": {"bin/tool", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, tools := toolsMachine(t)
			must(t, os.Symlink("../lib/cli.js", tools+"/bin/cli"))
			writeProgram(t, tools+"-1.2", "")
			must(t, os.Symlink(tools+"-1.2", tools+"/bin/away"))
			t.Setenv("PATH", tools+"/bin:/usr/bin:/bin")
			p := &c.Profiles[0]
			p.Programs, p.Command = nil, []string{strings.ReplaceAll(test.command, "TOOLS", tools)}
			if test.programs != nil {
				p.Programs = test.programs(tools)
			}
			warnings, err := c.CheckHost()
			must(t, err)
			want := "write programs: " + strings.ReplaceAll(test.want, "TOOLS", tools)
			if test.want == "" && len(warnings) > 0 || test.want != "" && (len(warnings) != 1 || !strings.HasSuffix(warnings[0].Text, want)) {
				t.Errorf("warnings %v, want %s", warnings, want)
			}
		})
	}
}

// TestHomes: people have homes, services do not.
func TestHomes(t *testing.T) {
	passwd := filepath.Join(t.TempDir(), "passwd")
	must(t, os.WriteFile(passwd, []byte("root:x:0:0::/root:/bin/sh\nbin:x:2:2::/bin:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n"+
		"nobody:x:65534:1::/nonexistent:/\nodd:x:1001:1::/:\nbroken:x:y:1::/x:\nshort:x:1002\n"), 0o600))
	got := homesIn(passwd)
	if len(got) != 2 || got[0] != (home{"root", "/root"}) || got[1] != (home{"me", "/home/me"}) {
		t.Errorf("homes are %v", got)
	}
}

func TestProgramsAreWrittenAsTheyWereRead(t *testing.T) {
	c, _ := parsed(t, `
version: 1
state: /srv/state
profiles: {p: {rootfs: host, programs: [/usr/local/go, {host: /opt/claude}, {host: /opt/a, as: /usr/local/b}]}}
outboxes: {main: {dir: /srv/box, allow: [/srv/box/w]}}
`)
	want := []compile.Programs{{Host: "/usr/local/go", As: "/usr/local/go"}, {Host: "/opt/claude", As: "/opt/claude"}, {Host: "/opt/a", As: "/usr/local/b"}}
	if got := c.Profiles[0].Programs; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v", got)
	}
	checkRoundTrip(t, "programs", c)
}
