package installed

import (
	"errors"
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

func TestNoProgram(t *testing.T) {
	m := newMachine(t)
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "npm install -g @anthropic-ai/claude-code") {
		t.Error(err)
	}
	m.at = m.put("bin/claude", "#!/bin/sh")
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "is a script") {
		t.Error(err)
	}
	if _, err := m.find("claud"); err == nil || !strings.Contains(err.Error(), "known are claude, codex") {
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
	if _, err := m.find("claude"); err == nil || !strings.Contains(err.Error(), "ANTHROPIC_BASE_URL is no address") {
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
