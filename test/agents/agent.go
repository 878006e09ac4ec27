package agents

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/configs"
)

// Agent is one of the programs.
type Agent struct {
	Name    string
	Program string // the directory of the program, in the one that Fetched returns
	Example string // the file of configs/examples that is about it
}

// Arch is this machine's, in npm's words.
var Arch = map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]

// machine is the first word of what Rust calls this machine.
var machine = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]

// The agents.
var (
	Claude = Agent{Name: "claude", Program: "@anthropic-ai/claude-code-linux-" + Arch, Example: "claude-code.yaml"}
	Codex  = Agent{Name: "codex", Program: "@openai/codex-linux-" + Arch + "/vendor/" + machine + "-unknown-linux-musl/bin", Example: "codex.yaml"}
)

// Path is a PATH that begins with further directories and has the agent's program, installed in a directory.
func (a Agent) Path(installed string, further ...string) string {
	return strings.Join(append(further, filepath.Join(installed, a.Program), "/usr/local/bin:/usr/bin:/bin"), ":")
}

// Profile is what our example of a configuration has of its own: the agent, its model, the environment, the budget. They are the keys of a
// profile, indented as in a configuration; env has more variables.
func (a Agent) Profile(env map[string]any) (keys string, err error) {
	data, err := configs.Examples.ReadFile(path.Join("examples", a.Example))
	if err != nil {
		return "", err
	}
	var example struct{ Profiles map[string]map[string]any }
	if err := yaml.Unmarshal(data, &example); err != nil {
		return "", err
	}
	profile := example.Profiles[a.Name]
	all := map[string]any{}
	if own, ok := profile["env"].(map[string]any); ok {
		all = own
	}
	for name, value := range env {
		all[name] = value
	}
	profile["env"] = all
	for _, key := range []string{"agent", "model", "budget", "env"} {
		value, err := json.Marshal(profile[key])
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", a.Example, key, err)
		}
		keys += "    " + key + ": " + string(value) + "\n"
	}
	return keys, nil
}
