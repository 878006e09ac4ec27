// Package installed finds an agent that the user of this machine has installed: its program, and the credential for its
// model.
//
//	found, err := installed.Find("claude", installed.Here())
//
// From the user's home only the program itself reaches a sandbox. The credential goes to the model gateway alone.
package installed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"torno/internal/agent"
)

// Agent holds everything that a profile needs to use an agent of this machine's user.
type Agent struct {
	Name    string
	Command []string // the program's path in a sandbox
	Places  []Place  // paths of this machine that children must find
	Preset  string   // of the route to its model
	Key     string   // its credential; "" if Login has it
	Login   string   // the agent's own file with its user's login
	Base    *url.URL // an upstream other than the preset's; nil for none
}

// Place is a directory or a file of this machine, and the path at which children find it.
type Place struct{ Host, As string }

// Machine answers questions about the machine and its user.
type Machine struct {
	Env  func(string) string
	Path func(program string) (string, error) // where a program is, by PATH
}

// Here returns the machine and the user of this process.
func Here() Machine { return Machine{os.Getenv, exec.LookPath} }

// known holds general facts about an agent: how users install it, and where they have its credential.
type known struct {
	install string   // the command that installs it
	native  []string // patterns for its program, below npm's directory node_modules
	python  bool     // it is a Python script instead
	keys    []string // environment variables with a key
	base    string   // the variable with another base address of its API
	preset  string   // of the route, if there is a key
	login   []string // the file with a login, in the user's home
	loginBy string   // the preset of the route, if there is a login
	kind    string   // the kind of credential that the login is
}

var agents = map[string]known{
	"claude": {
		install: "npm install -g @anthropic-ai/claude-code", native: []string{"@anthropic-ai/claude-code-linux-*/claude"},
		keys: []string{"ANTHROPIC_API_KEY"}, base: "ANTHROPIC_BASE_URL", preset: "anthropic",
		login: []string{".claude", ".credentials.json"}, loginBy: "claude-login", kind: "claude",
	},
	"codex": {
		install: "npm install -g @openai/codex", native: []string{"@openai/codex-linux-*/vendor/*/bin/codex"},
		keys: []string{"CODEX_API_KEY", "OPENAI_API_KEY"}, base: "OPENAI_BASE_URL", preset: "openai",
		login: []string{".codex", "auth.json"}, loginBy: "codex-login", kind: "codex",
	},
	"massgen": {
		install: "uv tool install massgen", python: true,
		keys: []string{"OPENAI_API_KEY"}, base: "OPENAI_BASE_URL", preset: "openai-chat",
	},
}

// Find finds an agent. With image the image has the program, so Find looks only for the credential.
func Find(name string, m Machine, image bool) (Agent, error) {
	about, ok := agents[name]
	if !ok {
		return Agent{}, fmt.Errorf("there is no agent %q; known are %s", name, strings.Join(agent.Names(), ", "))
	}
	found := Agent{Name: name}
	if !image {
		if err := found.findProgram(about, m); err != nil {
			return Agent{}, err
		}
	}
	if err := found.findCredential(about, m); err != nil {
		return Agent{}, err
	}
	return found, found.findBase(about, m)
}

// findProgram finds the program that the processor runs. On its way there it follows links, and a script of npm's.
func (a *Agent) findProgram(about known, m Machine) error {
	at, err := m.Path(a.Name)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return fmt.Errorf("%s is not on this machine: %w; install it (%s), or name an image that has it with --image", a.Name, err, about.install)
	}
	if about.python {
		return a.placePython(at, about.install)
	}
	native, err := isNative(at)
	if err != nil {
		return err
	}
	if !native {
		script := at
		if at = besideScript(script, about.native); at == "" {
			return fmt.Errorf("%s is a script, and its program is not beside it; name the program in a configuration (programs, command)", script)
		}
	}
	a.place(at)
	return nil
}

// isNative reports whether the processor itself can run the file (ELF).
func isNative(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	begins := make([]byte, 4)
	_, err = io.ReadFull(file, begins)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.Equal(begins, []byte("\x7fELF")), nil
}

// besideScript finds the program that a script of an npm package starts. It looks at each directory above the script
// that is called node_modules, or contains such a directory.
func besideScript(script string, patterns []string) string {
	for dir := filepath.Dir(script); dir != "/"; dir = filepath.Dir(dir) {
		for _, pattern := range patterns {
			for _, modules := range []string{dir, filepath.Join(dir, "node_modules")} {
				if found, _ := filepath.Glob(filepath.Join(modules, pattern)); len(found) > 0 && filepath.Base(modules) == "node_modules" {
					return found[len(found)-1]
				}
			}
		}
	}
	return ""
}

// place sets where children find a program: either the program alone, or together with the directories that it came
// with.
func (a *Agent) place(program string) {
	as := "/opt/" + a.Name
	a.Command = []string{as + "/bin/" + a.Name}
	whole := filepath.Dir(filepath.Dir(program))
	if _, err := os.Stat(filepath.Join(whole, "codex-package.json")); err == nil && filepath.Base(filepath.Dir(program)) == "bin" {
		a.Command = []string{as + "/bin/" + filepath.Base(program)}
		a.Places = []Place{{whole, as}}
		return
	}
	a.Places = []Place{{program, a.Command[0]}}
}

// findCredential prefers a key in the environment to a login, as the agents themselves do.
func (a *Agent) findCredential(about known, m Machine) error {
	for _, name := range about.keys {
		if key := strings.TrimSpace(m.Env(name)); key != "" {
			a.Key, a.Preset = key, about.preset
			return nil
		}
	}
	if about.login == nil {
		return fmt.Errorf("there is no credential for %s: set %s", a.Name, strings.Join(about.keys, " or "))
	}
	login := filepath.Join(append([]string{m.Env("HOME")}, about.login...)...)
	info, err := os.Stat(login)
	if m.Env("HOME") == "" || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no credential for %s: set %s, or log in with %s", a.Name, strings.Join(about.keys, " or "), a.Name)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return fmt.Errorf("the login of %s, %s, cannot be used: %w", a.Name, login, err)
	}
	a.Login, a.Preset = login, about.loginBy
	return nil
}

// findBase reads the variable by which the user has given the agent another address.
func (a *Agent) findBase(about known, m Machine) error {
	text := m.Env(about.base)
	if text == "" || a.Key == "" { // a login is for its vendor alone
		return nil
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return fmt.Errorf("%s is not the address of an API: %q", about.base, text)
	}
	a.Base = base
	return nil
}

// Route returns the gateway's route to the agent's model, as a configuration has it. keyFile is the path of the key.
func (a *Agent) Route(keyFile string) map[string]any {
	route := map[string]any{"preset": a.Preset, "credential": map[string]any{"file": keyFile}}
	if a.Login != "" {
		route["credential"] = map[string]any{agents[a.Name].kind: a.Login}
	}
	if a.Base != nil {
		route["upstream"], route["private"] = strings.TrimSuffix(a.Base.String(), "/"), true // its user has named it
		if a.Base.Scheme == "http" {
			route["http_to"] = a.Base.Hostname()
		}
	}
	return route
}
