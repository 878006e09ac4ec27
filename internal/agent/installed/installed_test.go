package installed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"torno/internal/agent"
)

// machine is a home with files, and programs by their names.
type machine struct {
	*testing.T
	dir string
	env map[string]string
	at  string // where PATH leads
}

func newMachine(t *testing.T) *machine {
	m := &machine{T: t, dir: t.TempDir(), env: map[string]string{"OPENAI_API_KEY": " key\n", "ANTHROPIC_API_KEY": "key"}}
	m.env["HOME"] = m.dir
	return m
}

func (m *machine) put(path, text string) string {
	m.Helper()
	path = filepath.Join(m.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		m.Fatal(err)
	}
	return path
}

func (m *machine) link(path, to string) string {
	m.Helper()
	path = filepath.Join(m.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
		m.Fatal(err)
	}
	return path
}

func (m *machine) find(name string) (Agent, error) {
	return Find(name, Machine{
		Env: func(name string) string { return m.env[name] },
		Path: func(string) (string, error) {
			if m.at == "" {
				return "", errors.New("not found in PATH")
			}
			return m.at, nil
		},
	}, false)
}

// TestEveryAgentIsLookedFor: an agent that a profile can name can be found here.
func TestEveryAgentIsLookedFor(t *testing.T) {
	if known := slices.Sorted(maps.Keys(agents)); !slices.Equal(known, slices.Sorted(slices.Values(agent.Names()))) {
		t.Errorf("looked for are %v", known)
	}
}

func TestPrograms(t *testing.T) {
	const elf = "\x7fELF and so on"
	for name, c := range map[string]struct {
		agent   string
		install func(*machine) (at, host string)
		as      string
		command string
	}{
		"its own installer": {"claude", func(m *machine) (string, string) {
			program := m.put(".local/share/claude/versions/2.1.330", elf)
			return m.link(".local/bin/claude", program), program
		}, "/opt/claude/bin/claude", "/opt/claude/bin/claude"},
		"npm, beside its package": {"claude", func(m *machine) (string, string) {
			script := m.put("lib/node_modules/@anthropic-ai/claude-code/cli.js", "#!/usr/bin/env node")
			return m.link("bin/claude", script), m.put("lib/node_modules/@anthropic-ai/claude-code-linux-x64/claude", elf)
		}, "/opt/claude/bin/claude", "/opt/claude/bin/claude"},
		"npm, in its package": {"codex", func(m *machine) (string, string) {
			script := m.put("lib/node_modules/@openai/codex/bin/codex.js", "#!/usr/bin/env node")
			const vendor = "lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl"
			m.put(vendor+"/codex-package.json", "{}")
			return m.link("bin/codex", script), filepath.Dir(filepath.Dir(m.put(vendor+"/bin/codex", elf)))
		}, "/opt/codex", "/opt/codex/bin/codex"},
		"a single file": {"codex", func(m *machine) (string, string) {
			program := m.put("bin/codex", elf)
			return program, program
		}, "/opt/codex/bin/codex", "/opt/codex/bin/codex"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			var host string
			m.at, host = c.install(m)
			found, err := m.find(c.agent)
			if err != nil || !reflect.DeepEqual(found.Places, []Place{{host, c.as}}) || !slices.Equal(found.Command, []string{c.command}) {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

// TestAProgramOfPythons: it is a script of an environment, all of which children find where it is, with the Python behind it where children would
// not see it.
func TestAProgramOfPythons(t *testing.T) {
	env := func(m *machine, first, python string) (script, dir string) {
		m.put("tools/massgen/pyvenv.cfg", "home = /")
		m.link("tools/massgen/bin/python3", python)
		interpreter := m.link("tools/massgen/bin/python", "python3")
		script = m.put("tools/massgen/bin/massgen", fmt.Sprintf(first, interpreter))
		return script, filepath.Join(m.dir, "tools/massgen")
	}
	const plain = "#!%s\nimport sys\n"
	for name, install := range map[string]func(m *machine) (script string, places []Place){
		"uv, with the system's Python": func(m *machine) (string, []Place) {
			script, dir := env(m, plain, "/usr/bin/python3")
			m.at = m.link(".local/bin/massgen", script)
			return script, []Place{{dir, dir}}
		},
		"pipx, with a path for the shell": func(m *machine) (string, []Place) {
			script, dir := env(m, "#!/bin/sh\n'''exec' \"%s\" \"$0\" \"$@\"\n' '''\n", "/usr/bin/python3")
			m.at = script
			return script, []Place{{dir, dir}}
		},
		"uv, with a Python of its own": func(m *machine) (string, []Place) {
			m.put("python/cpython-3.12.8/bin/python3.12", "\x7fELF")
			minor := m.link("python/cpython-3.12", "cpython-3.12.8")
			script, dir := env(m, plain, minor+"/bin/python3.12")
			m.at = script
			return script, []Place{{dir, dir}, {filepath.Join(m.dir, "python/cpython-3.12.8"), minor}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			script, places := install(m)
			found, err := m.find("massgen")
			if err != nil || !reflect.DeepEqual(found.Places, places) || !slices.Equal(found.Command, []string{script}) {
				t.Errorf("found %+v, %v", found, err)
			}
			if want := map[string]any{"preset": "openai-chat", "credential": map[string]any{"file": "/key"}}; !reflect.DeepEqual(found.Route("/key"), want) {
				t.Errorf("its route is %v", found.Route("/key"))
			}
		})
	}
	for name, install := range map[string]struct {
		text, says string
		env        map[string]string
	}{
		"the system's":   {"#!/usr/bin/python3\n", "which does not belong to an environment of its own", nil},
		"no script":      {"\x7fELF", "is not a script for Python", nil},
		"env":            {"#!/usr/bin/env python3\n", "is not a script for Python", nil},
		"no credential":  {"", "there is no credential for massgen: set OPENAI_API_KEY", map[string]string{"OPENAI_API_KEY": ""}},
		"it is not here": {"", "uv tool install massgen", nil},
	} {
		m := newMachine(t)
		maps.Copy(m.env, install.env)
		if install.text != "" {
			m.at = m.put("bin/massgen", install.text)
		} else if install.env != nil {
			m.at, _ = env(m, plain, "/usr/bin/python3")
		}
		if _, err := m.find("massgen"); err == nil || !strings.Contains(err.Error(), install.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoProgram(t *testing.T) {
	m := newMachine(t)
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "npm install -g @anthropic-ai/claude-code") {
		t.Error(err)
	}
	m.at = m.put("bin/claude", "#!/bin/sh")
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "is a script") {
		t.Error(err)
	}
	if _, err := m.find("claud"); err == nil || !strings.Contains(err.Error(), "known are claude, codex, massgen") {
		t.Error(err)
	}
}

func TestCredentials(t *testing.T) {
	m := newMachine(t)
	m.at = m.put("bin/claude", "\x7fELF")
	found, err := m.find("claude")
	if want := map[string]any{"preset": "anthropic", "credential": map[string]any{"file": "/key"}}; err != nil || found.Key != "key" || !reflect.DeepEqual(found.Route("/key"), want) {
		t.Errorf("%+v, %v, %v", found, err, found.Route("/key"))
	}
	m.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9/"
	found, err = m.find("claude")
	if want := map[string]any{
		"preset": "anthropic", "credential": map[string]any{"file": "/key"}, "upstream": "http://127.0.0.1:9", "http_to": "127.0.0.1", "private": true,
	}; err != nil || !reflect.DeepEqual(found.Route("/key"), want) {
		t.Errorf("%v, %v", found.Route("/key"), err)
	}
	m.env["ANTHROPIC_BASE_URL"] = "somewhere"
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "ANTHROPIC_BASE_URL is not the address") {
		t.Error(err)
	}
	delete(m.env, "ANTHROPIC_API_KEY")
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "set ANTHROPIC_API_KEY, or log in with claude") {
		t.Error(err)
	}
	// A login goes to its vendor, whatever the base says.
	login := m.put(".claude/.credentials.json", "{}")
	found, err = m.find("claude")
	if want := map[string]any{"preset": "claude-login", "credential": map[string]any{"claude": login}}; err != nil || !reflect.DeepEqual(found.Route("/key"), want) {
		t.Errorf("%v, %v", found.Route("/key"), err)
	}
}
