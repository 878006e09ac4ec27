package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"torno/configs"
	"torno/internal/agent"
	"torno/internal/agent/installed"
	"torno/internal/cli"
	"torno/internal/launcher"
	"torno/sandbox"
)

// source is the origin of the configuration: a file, or flags for one directory.
type source struct {
	launchers launcher.List
	config    string
	local     configs.LocalOptions

	agent, model string
	machine      installed.Machine
	found        installed.Agent // the agent that --agent names
	keyFile      string          // the file with its key, for a trial; "" is the usual one in the state directory
}

// options returns the options of commands that need a configuration.
func (s *source) options() []cli.Option {
	return append(s.place(), []cli.Option{
		{Name: "allow", Value: "ROOT", Help: "with --dir: workspaces may lie below ROOT; by default DIR/workspaces; may be repeated", Set: cli.List(&s.local.Allow)},
		{Name: "read", Value: "ROOT", Help: "with --dir: context may lie below ROOT; may be repeated", Set: cli.List(&s.local.Read)},
		{Name: "sandbox", Value: "NAME", Help: "with --dir: " + strings.Join(s.launchers.Names(), ", ") + ", or auto, which is the default", Set: cli.Text(&s.local.Sandbox), Words: append(s.launchers.Names(), configs.SandboxAuto)},
		{Name: "image", Value: "REF", Help: "with --dir: an image, or with gvisor dir:/PATH, oci:/PATH or archive:/PATH; by default this host's own programs", Set: cli.Text(&s.local.Image)},
		{Name: "pull", Help: "with --image: fetch the image if it is missing", Set: cli.On(&s.local.Pull)},
		{Name: "programs", Value: "PATH", Help: "with --dir: a directory or file of this machine that children see, read-only, such as /usr/local/go; may be repeated", Set: cli.List(&s.local.Programs)},
		packagesOption(&s.local.Packages, "with --dir: "),
		{Name: "agent", Value: "NAME", Help: "with --dir: children are claude, codex or massgen, as installed on this machine for this user, with this user's key or login", Set: cli.Text(&s.agent), Words: agent.Names()},
		{Name: "model", Value: "NAME", Help: "with --agent: the model; by default the model of the request, or the agent's own choice", Set: cli.Text(&s.model)},
		{Name: "max-running", Value: "N", Help: "with --dir: how many children may run at once", Set: cli.Number(&s.local.MaxRunning)},
		{Name: "accept", Value: "LIMIT", Help: "with --dir: start although this machine does not enforce LIMIT: memory or pids; may be repeated", Set: cli.List(&s.local.Accept), Words: acceptable()},
	}...)
}

// packagesOption returns the option --packages, which takes names of registries with commas between them.
func packagesOption(to *[]string, with string) cli.Option {
	return cli.Option{
		Name: "packages", Value: "LIST", Words: configs.Registries(),
		Help: with + "children get packages of these registries, through the model gateway and read-only: " + strings.Join(configs.Registries(), ","),
		Set: func(list string) error {
			words := strings.Split(list, ",")
			*to = append(*to, words...)
			return configs.CheckRegistries(words)
		},
	}
}

func acceptable() (words []string) {
	for _, key := range sandbox.Acceptable {
		words = append(words, string(key))
	}
	return words
}

// place returns the options that name an installation.
func (s *source) place() []cli.Option {
	return []cli.Option{
		{Name: "config", Value: "FILE", Help: "the configuration", Set: cli.Text(&s.config)},
		{Name: "dir", Value: "DIR", Help: "one outbox, without a configuration", Set: cli.Text(&s.local.Dir)},
		{Name: "state", Value: "DIR", Help: "the state directory", Set: cli.Text(&s.local.State)},
	}
}

// again returns the options of place as they were given, for a command that the operator is to repeat.
func (s *source) again() string {
	words := ""
	for _, o := range []struct{ name, value string }{{"--config", s.config}, {"--dir", s.local.Dir}, {"--state", s.local.State}} {
		if o.value != "" {
			words += " " + o.name + " " + cli.ShellWord(o.value)
		}
	}
	return words
}

// flagsOfDir returns the given flags that only go with --dir. With a file they are a mistake: the file decides all
// that.
func (s *source) flagsOfDir() string {
	given := map[string]bool{
		"--allow": s.local.Allow != nil, "--read": s.local.Read != nil, "--sandbox": s.local.Sandbox != "",
		"--image": s.local.Image != "", "--pull": s.local.Pull, "--programs": s.local.Programs != nil, "--packages": s.local.Packages != nil, "--agent": s.agent != "", "--model": s.model != "",
		"--max-running": s.local.MaxRunning != 0, "--accept": s.local.Accept != nil,
		"--state": s.local.State != "",
		"COMMAND": s.local.Command != nil,
	}
	var names []string
	for name, is := range given {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// load reads the configuration. The words after "--" are the command of --dir's only profile.
func (s *source) load(args cli.Args) (configs.Config, []configs.Warning, error) {
	s.local.Command = args.Behind
	switch {
	case s.config == "" && s.local.Dir == "":
		return configs.Config{}, nil, &cli.UsageError{Text: "neither --dir nor --config is given", Next: "name a directory with --dir DIR, or a configuration with --config FILE"}
	case s.config == "":
		if err := s.findAgent(); err != nil {
			return configs.Config{}, nil, err
		}
		c, warnings, err := configs.Local(s.launchers, s.local)
		return c, warnings, asConfigError(inFlags(err), "these flags")
	case s.local.Dir != "":
		return configs.Config{}, nil, cli.Usage("--config and --dir do not go together; use one of them")
	case s.flagsOfDir() != "":
		return configs.Config{}, nil, cli.Usage("%s: this goes with --dir; here the configuration %s decides it", s.flagsOfDir(), s.config)
	}
	c, warnings, err := configs.Load(s.launchers, s.config)
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.Hint(fmt.Errorf("there is no configuration %s", s.config), "name another file; watcher init writes one, and --dir DIR needs none")
	}
	return c, warnings, asConfigError(err, s.config)
}

// inFlags names problems by the flags that set the values, and not by keys of a configuration.
func inFlags(err error) error {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return err
	}
	named := &configs.Error{}
	for _, p := range e.Problems {
		word := p.Key[strings.LastIndex(p.Key, ".")+1:]
		word, _, _ = strings.Cut(word, "[") // an element of a list
		if flag, is := flagOf[word]; is {
			p.Key = flag
		}
		named.Problems = append(named.Problems, p)
	}
	return named
}

// flagOf maps the last word of a key to the flag that sets it.
var flagOf = map[string]string{
	"dir": "--dir", "allow": "--allow", "read": "--read", "state": "--state", "sandbox": "--sandbox", "image": "--image", "rootfs": "--image", "pull": "--pull",
	"programs": "--programs", "model": "--model", "max_running": "--max-running", "accept": "--accept",
}

// noWords returns an error if there are operands before "--".
func noWords(command string, args cli.Args) error {
	if len(args.Words) == 0 {
		return nil
	}
	return &cli.UsageError{
		Text: "there is one operand too many: " + cli.OneLine(args.Words[0]),
		Next: "name the outbox with --dir, and put the child's command after --: watcher " + command + " --dir DIR -- COMMAND…",
	}
}

// absolute makes a path absolute, from the working directory. An empty path stays empty.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}
