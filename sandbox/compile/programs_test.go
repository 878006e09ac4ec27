package compile

import (
	"strings"
	"testing"

	"torno/sandbox"
)

func TestSearchPath(t *testing.T) {
	for given, want := range map[string]string{
		"":                              "",
		"/usr/local/go":                 "/usr/local/go/bin:/usr/local/go:",
		"/opt/claude/bin":               "/opt/claude/bin:",
		"/opt/claude/bin/claude":        "/opt/claude/bin:",
		"/opt/sbin /opt/a /opt/sbin/b":  "/opt/sbin:/opt/a/bin:/opt/a:",
		"/opt/b /opt/a":                 "/opt/b/bin:/opt/b:/opt/a/bin:/opt/a:",
		"/opt/a:b":                      "",
		"/usr/local/bin/x /usr/local/y": "/usr/local/bin:/usr/local/y/bin:/usr/local/y:",
	} {
		var p Profile
		for as := range strings.FieldsSeq(given) {
			p.Programs = append(p.Programs, Programs{Host: "/h", As: as})
		}
		system := baseEnv["PATH"]
		if strings.Contains(want, "/usr/local/bin:") {
			system = strings.Replace(system, "/usr/local/bin:", "", 1)
		}
		if got := p.SearchPath(); got != want+system {
			t.Errorf("%s: %s, want %s", given, got, want+system)
		}
	}
}

func TestReservedForPrograms(t *testing.T) {
	for _, target := range []string{
		"/", "/usr", "/usr/lib/x", "/usr/localx", "/etc", "/etc/x", "/proc", "/sys/x", "/dev", "/tmp", "/tmp/x", "/home", "/home/agent",
		"/home/agent/x", "/run", "/run/torno/bin", "/bin", "/lib64/x", "/workspace", "/workspace/x", "/context",
	} {
		if ReservedForPrograms(target) == "" {
			t.Errorf("programs may appear at %s", target)
		}
	}
	for _, target := range []string{"/usr/local", "/usr/local/go", "/opt", "/opt/x", "/home/me/tools", "/root/tools", "/srv/x"} {
		if why := ReservedForPrograms(target); why != "" {
			t.Errorf("programs may not appear at %s: %s", target, why)
		}
	}
}

// TestProgramsInASpec: only those in /usr/local share a view, and only over the host's own programs.
func TestProgramsInASpec(t *testing.T) {
	c := compiler{
		workspace: askedPath{target: "/srv/ws", text: "/srv/ws", here: "/srv/ws", root: "/srv"},
		profile: Profile{RootFS: sandbox.RootFS{Host: true}, Programs: []Programs{
			{Host: "/a", As: "/usr/local/go"}, {Host: "/b", As: "/opt/b"}, {Host: "/c", As: "/usr/local/bin/c"},
		}},
	}
	if refusal := c.layMounts(); refusal != nil {
		t.Fatal(refusal)
	}
	want := map[string]string{"/usr/local/go": "/usr/local", "/opt/b": "/opt/b", "/usr/local/bin/c": "/usr/local", "/srv/ws": "/srv"}
	for _, m := range c.spec.Mounts {
		if m.Prefix != want[m.Target] || m.Programs == m.Workspace || m.Programs && m.Source.Rel != "." {
			t.Errorf("%+v", m)
		}
	}
	if len(c.spec.Mounts) != len(want) {
		t.Errorf("there are %d mounts", len(c.spec.Mounts))
	}
	c.profile.RootFS, c.spec = sandbox.RootFS{Image: "x"}, sandbox.Spec{}
	if refusal := c.layMounts(); refusal != nil {
		t.Fatal(refusal)
	}
	for _, m := range c.spec.Mounts {
		if m.Programs && m.Prefix != m.Target {
			t.Errorf("over an image: %+v", m)
		}
	}
}

// TestRequestsDoNotHidePrograms: nothing of a request may appear over or in the profile's programs.
func TestRequestsDoNotHidePrograms(t *testing.T) {
	for _, target := range []string{"/opt", "/opt/tools", "/opt/tools/bin"} {
		c := compiler{
			workspace: askedPath{target: target, text: target, here: target, root: target},
			profile:   Profile{Name: "p", Programs: []Programs{{Host: "/opt/real", As: "/opt/tools"}}},
		}
		if refusal := c.layMounts(); refusal == nil || !strings.Contains(refusal.Hint, "programs of profile p are there") {
			t.Errorf("a workspace at %s: %v", target, refusal)
		}
	}
}
