package compile

import (
	"cmp"
	"fmt"
	"strings"

	"torno/delegation"
	"torno/sandbox"
)

// MaxArgument is the number of bytes that Linux passes to a program in one argument or variable, without the zero byte
// at its end.
const MaxArgument = 128<<10 - 1

// maxArguments bounds all arguments together. Linux allows a quarter of the stack. This is half as much, which leaves
// room for pointers and for a smaller stack.
const maxArguments = 1 << 20

// The files of a run that a command can name.
const (
	taskFile     = "task"
	configFile   = "config.yaml"
	settingsFile = "settings.json"
)

// These commands serve a profile without a command. The "--" keeps the shell from reading a task that begins with "-"
// as an option. A task that is too long for an argument becomes a script in a file instead.
var (
	shellCommand     = []string{"/bin/sh", "-c", "--", taskPlaceholder}
	shellFileCommand = []string{"/bin/sh", taskFilePlaceholder}
)

// buildProcess makes the argument list, the environment and the files of the run.
func (c *compiler) buildProcess() *delegation.Refusal {
	c.setAnswer()
	if refusal := c.takeSettings(); refusal != nil {
		return refusal
	}
	if refusal := c.checkTask(); refusal != nil {
		return refusal
	}
	command := c.command()
	argv, refusal := c.arguments(command)
	if refusal != nil {
		return refusal
	}
	c.spec.Process = sandbox.Process{
		Argv: argv, Env: c.environment(), Dir: c.workspace.target, Umask: c.profile.Umask, Stdin: c.profile.Stdin || c.profile.Hears(),
		Lasting: c.profile.Hears(), Agent: c.profile.Agent,
	}
	if c.profile.Agent != "" {
		c.spec.Process.Session = c.req.SessionID.String()
	}
	return c.addFiles(command)
}

// setAnswer decides how the answer gets into the file that findAnswer found.
func (c *compiler) setAnswer() {
	switch c.profile.AnswerMode() {
	case AnswerNone:
		c.spec.Answer = sandbox.Answer{}
	case AnswerStdout:
		c.spec.Answer.FromStdout = true
		c.spec.Answer.Max = cmp.Or(c.profile.AnswerMax, DefaultAnswerMax)
	}
}

func (c *compiler) command() []string {
	switch {
	case c.profile.Agent != "":
		return agentCommand(c.profile, c.req.Model.String(), c.req.SessionID.String(), c.settings != nil)
	case len(c.profile.Command) > 0:
		return c.profile.Command
	case len(c.req.Task) > MaxArgument:
		return shellFileCommand
	default:
		return shellCommand
	}
}

// arguments expands the command, element by element.
func (c *compiler) arguments(command []string) ([]string, *delegation.Refusal) {
	values := map[string]string{
		taskPlaceholder:     c.req.Task,
		taskFilePlaceholder: sandbox.RunDir + "/" + taskFile,
		configPlaceholder:   sandbox.RunDir + "/" + configFile,
		answerPlaceholder:   c.spec.Answer.Path,
		"{{.Workspace}}":    c.workspace.target,
		"{{.SubagentID}}":   c.req.SubagentID.String(),
		"{{.RequestID}}":    c.req.RequestID.Hash(),
		"{{.Model}}":        c.req.Model.String(),
		"{{.SessionID}}":    c.req.SessionID.String(),
	}
	argv, total := make([]string, 0, len(command)), 0
	for _, element := range command {
		if err := CheckPlaceholders(element); err != nil {
			return nil, c.badProfile(err)
		}
		argument := expand(element, values)
		if total += len(argument); len(argument) > MaxArgument || total > maxArguments {
			return nil, taskTooLong(len(c.req.Task))
		}
		if strings.ContainsRune(argument, 0) {
			return nil, taskWithZero()
		}
		argv = append(argv, argument)
	}
	return argv, nil
}

func taskTooLong(length int) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeTaskTooLong, Field: "task",
		Text: fmt.Sprintf("The task of %d bytes does not fit into the arguments of the command, where one has at most %d bytes and all have %d",
			length, MaxArgument, maxArguments),
		Hint: "shorten the task, or have the operator use " + taskFilePlaceholder + " in the profile's command",
	}
}

func taskWithZero() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeInvalid, Field: "task",
		Text: "The task has a zero byte, which no argument can hold",
		Hint: "leave it out, or have the operator use " + taskFilePlaceholder + " in the profile's command",
	}
}

// badProfile returns the refusal for a profile that package configs should have rejected.
func (c *compiler) badProfile(err error) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeInternal, Field: "profile",
		Text: fmt.Sprintf("The command of profile %s cannot be expanded: %v", c.profile.Name, err),
		Hint: "ask the operator to correct this",
	}
}

// environment returns the child's complete environment.
func (c *compiler) environment() []string {
	own := map[string]string{
		"TORNO_SUBAGENT_ID": c.req.SubagentID.String(),
		"TORNO_WORKSPACE":   c.workspace.target,
		"PATH":              c.profile.SearchPath(),
	}
	if c.spec.Answer.Path != "" {
		own["TORNO_ANSWER_FILE"] = c.spec.Answer.Path
	}
	return environment(c.profile.Env, own)
}

// addFiles adds only the files in RunDir that the environment and the command name.
func (c *compiler) addFiles(command []string) *delegation.Refusal {
	c.spec.Files = []sandbox.File{{Name: gitConfig, Content: []byte(gitDefaults)}}
	if mentions(command, taskFilePlaceholder) {
		c.spec.Files = append(c.spec.Files, sandbox.File{Name: taskFile, Content: []byte(c.req.Task)})
	}
	if c.settings != nil {
		c.spec.Files = append(c.spec.Files, sandbox.File{Name: settingsFile, Content: c.settings})
	}
	if mentions(command, configPlaceholder) {
		content, refusal := c.runConfig()
		if refusal != nil {
			return refusal
		}
		c.spec.Files = append(c.spec.Files, sandbox.File{Name: configFile, Content: content})
	}
	return nil
}
