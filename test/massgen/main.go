package massgen

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Exit codes.
const (
	exitOK          = 0
	exitConfig      = 1
	exitExecution   = 2
	exitTime        = 3
	exitInterrupted = 4
)

// Old has the stand-in refuse --no-parse-at-references, as older MassGens do.
const Old = "STANDIN_MASSGEN_OLD"

// arguments are what it takes.
type arguments struct {
	config, output, session, task string
	automation                    bool
}

// parse reads the words behind the program's name, as Python's argparse does: what it does not know is an error with exit code 2.
func parse(words []string) (a arguments, err error) {
	var rest []string
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		value := func() (v string) {
			if len(words) == 0 {
				err = fmt.Errorf("argument %s: expected one argument", word)
				return ""
			}
			v, words = words[0], words[1:]
			return v
		}
		switch {
		case word == "--":
			rest, words = append(rest, words...), nil
		case word == "--config":
			a.config = value()
		case word == "--output-file":
			a.output = value()
		case word == "--session-id":
			a.session = value()
		case word == "--automation":
			a.automation = true
		case word == "--no-parse-at-references" && os.Getenv(Old) == "":
		case strings.HasPrefix(word, "-"):
			err = fmt.Errorf("unrecognized arguments: %s", word)
		default:
			rest = append(rest, word)
		}
	}
	if err == nil && len(rest) != 1 {
		err = fmt.Errorf("unrecognized arguments: %q", rest)
	}
	if err == nil {
		a.task = rest[0]
	}
	return a, err
}

// team is what it reads of a run configuration.
type team struct {
	Agents []member `yaml:"agents"`
	Agent  *member  `yaml:"agent"`
	Order  struct {
		Snapshots    string `yaml:"snapshot_storage"`
		Coordination struct {
			Subagents bool `yaml:"enable_subagents"`
		} `yaml:"coordination"`
	} `yaml:"orchestrator"`
}

type member struct {
	ID      string `yaml:"id"`
	Backend struct {
		Type  string         `yaml:"type"`
		Model string         `yaml:"model"`
		Base  string         `yaml:"base_url"`
		Cwd   string         `yaml:"cwd"`
		Mode  string         `yaml:"command_line_execution_mode"`
		Rest  map[string]any `yaml:",inline"`
	} `yaml:"backend"`
}

func readTeam(file string) (t team, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	if err := yaml.Unmarshal(data, &t); err != nil {
		return t, err
	}
	if t.Agent != nil {
		t.Agents = append(t.Agents, *t.Agent)
	}
	if len(t.Agents) == 0 {
		return t, errors.New("no agents configured")
	}
	for _, m := range t.Agents {
		switch {
		case m.Backend.Type != "chatcompletion":
			return t, fmt.Errorf("agent %s: the stand-in has no backend %q", m.ID, m.Backend.Type)
		case m.Backend.Model == "":
			return t, fmt.Errorf("agent %s: model is missing", m.ID)
		case m.Backend.Mode == "docker":
			return t, fmt.Errorf("agent %s: there is no docker here", m.ID)
		}
	}
	return t, nil
}

// Main is the program: args are its name and its arguments.
func Main(args []string) int {
	a, err := parse(args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "usage: massgen [-h] [--config CONFIG] ...\nmassgen: error: %v\n", err)
		return exitExecution // argparse's own code is the same number
	}
	word, rest, _ := strings.Cut(strings.TrimPrefix(a.task, "#massgen "), " ")
	if begin, ok := early[word]; ok && strings.HasPrefix(a.task, "#massgen ") {
		return begin()
	}
	t, err := readTeam(a.config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Configuration error: %v\n", err)
		return exitConfig
	}
	fmt.Println("MassGen (stand-in) in automation mode")
	w, err := newWork(a, t)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitExecution
	}
	defer w.events.Close()
	if scene, ok := scenes[word]; ok && strings.HasPrefix(a.task, "#massgen ") {
		return scene(w, rest)
	}
	return w.solve(a.task)
}

// early are the scenes in which the stand-in writes no log.
var early = map[string]func() int{
	"nonsense": func() int { fmt.Println("Hello, I am no MassGen."); return exitOK },
	"hang":     func() int { time.Sleep(time.Hour); return exitOK },
	"import": func() int {
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'massgen'")
		return exitConfig
	},
}
