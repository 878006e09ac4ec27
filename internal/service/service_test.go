package service

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func plan(t *testing.T, m Machine) Plan {
	t.Helper()
	p, err := For(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlans(t *testing.T) {
	root := plan(t, Machine{System: "linux", Program: "/opt/torno/watcher"})
	if root.Path != "/etc/systemd/system/torno-watcher.service" || root.Config != "/etc/torno/watcher.yaml" {
		t.Errorf("root's is %+v", root)
	}
	for _, line := range []string{"ExecStart=/opt/torno/watcher run --config /etc/torno/watcher.yaml\n", "ExecReload=/opt/torno/watcher reload\n", "Type=notify\n", "StateDirectory=torno\n"} {
		if !strings.Contains(root.Text, line) {
			t.Errorf("root's lacks %q", line)
		}
	}
	person := plan(t, Machine{System: "linux", User: true, Program: "/home/me/bin/watcher", Home: "/home/me"})
	if person.Path != "/home/me/.config/systemd/user/torno-watcher.service" || !strings.Contains(strings.Join(person.Start[1], " "), "--user enable --now") {
		t.Errorf("a person's is %+v", person)
	}
	for _, line := range []string{"ExecStart=/home/me/bin/watcher run --config /home/me/.config/torno/watcher.yaml\n", "Delegate=yes\n", "KillMode=process\n"} {
		if !strings.Contains(person.Text, line) {
			t.Errorf("a person's lacks %q", line)
		}
	}
	if strings.Contains(root.Text+person.Text, "/usr/local/bin") {
		t.Error("the place of another program stayed")
	}
	other := plan(t, Machine{System: "linux", Program: "/opt/watcher", Config: "/srv/w.yaml"})
	if !strings.Contains(other.Text, "run --config /srv/w.yaml\n") || other.Config != "/srv/w.yaml" {
		t.Errorf("with another configuration it is %+v", other)
	}
}

func TestAMacsPlanIsAPropertyList(t *testing.T) {
	p := plan(t, Machine{System: "darwin", Program: "/opt/watcher", Home: "/Users/ann", UID: 501})
	if p.Path != "/Users/ann/Library/LaunchAgents/dev.torno.vm.plist" || strings.Contains(p.Text, "/Users/me") || !strings.Contains(p.Text, "/Users/ann/outboxes:w") {
		t.Errorf("it is %+v", p)
	}
	for decoder := xml.NewDecoder(strings.NewReader(p.Text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := For(Machine{System: "plan9", Program: "/w"}); err == nil {
		t.Error("plan9 has a plan")
	}
}

func TestOnlyPlainPathsGetIn(t *testing.T) {
	for _, path := range []string{"/opt/a b/watcher", "/opt/%h/watcher", "/opt/$HOME/watcher", "/opt/a\nExecStartPre=/bin/evil", "/opt/\"x\"", "/opt/<x>", "relative/watcher", `/opt/a\x20b`, "/opt/a;b", "/opt/ü"} {
		for _, m := range []Machine{{System: "linux", Program: path}, {System: "linux", Program: "/w", Config: path}, {System: "linux", User: true, Program: "/w", Home: path}, {System: "darwin", Program: "/w", Home: path}} {
			if p, err := For(m); err == nil {
				t.Errorf("%+v becomes\n%s", m, p.Text)
			}
		}
	}
}

func TestPutAndRemove(t *testing.T) {
	home := t.TempDir()
	p := plan(t, Machine{System: "linux", User: true, Program: "/w", Home: home})
	if state, err := p.State(); state != "missing" || err != nil {
		t.Errorf("before: %s, %v", state, err)
	}
	for i, changed := range []bool{true, false} {
		if did, err := p.Put(); did != changed || err != nil {
			t.Errorf("put %d: %t, %v", i, did, err)
		}
	}
	newer := plan(t, Machine{System: "linux", User: true, Program: "/w2", Home: home})
	if state, err := newer.State(); state != "outdated" || err != nil {
		t.Errorf("to another version: %s, %v", state, err)
	}
	if did, err := newer.Put(); !did || err != nil {
		t.Errorf("another version: %t, %v", did, err)
	}
	if err := newer.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Dir(p.Path) + "/*"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestAForeignFileStays(t *testing.T) {
	for name, lay := range map[string]func(path string) error{
		"a file":      func(path string) error { return os.WriteFile(path, []byte("[Service]\n"), 0o600) },
		"a link":      func(path string) error { return os.Symlink("/dev/null", path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		p := plan(t, Machine{System: "linux", User: true, Program: "/w", Home: t.TempDir()})
		if err := errors.Join(os.MkdirAll(filepath.Dir(p.Path), 0o700), lay(p.Path)); err != nil {
			t.Fatal(err)
		}
		_, put := p.Put()
		_, asked := p.State()
		for what, err := range map[string]error{"put": put, "state": asked, "remove": p.Remove()} {
			if !errors.Is(err, ErrForeign) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if _, err := os.Lstat(p.Path); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}
