package adapter

import (
	"errors"
	"fmt"
	"strings"
)

// Usage says how to call the adapter.
const Usage = "usage: sandbox-init agent claude|codex|massgen --task FILE [--model M] [--config FILE] [--answer FILE] [--session FILE] [--settings FILE] [--ask tools] [--hear messages] -- PROGRAM [ARG…]"

type options struct {
	kind                kind
	task, model, answer string
	config              string // the configuration file, for an agent that takes one
	session             string
	settings            string // the file with the agent's settings
	ask                 string // "tools": the agent asks before it calls a tool
	hear                string // "messages": the agent takes messages while it works; for an agent that must be told to
	argv                []string
}

// parse reads the arguments after "agent".
func parse(args []string) (o options, err error) {
	if len(args) == 0 {
		return o, errors.New("it needs the name of an agent")
	}
	agentName := args[0]
	for args = args[1:]; len(args) > 0 && args[0] != "--"; {
		flag, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch flag {
		case "--task":
			o.task = value
		case "--model":
			o.model = value
		case "--config":
			o.config = value
		case "--answer":
			o.answer = value
		case "--session":
			o.session = value
		case "--settings":
			o.settings = value
		case "--ask":
			o.ask = value
		case "--hear":
			o.hear = value
		default:
			return o, fmt.Errorf("it does not take %q", flag)
		}
		if value == "" {
			return o, fmt.Errorf("%s needs a value", flag)
		}
	}
	if len(args) < 2 || o.task == "" {
		return o, errors.New("it needs --task and, after --, a program")
	}
	kind, known := kindOf(agentName, o.ask+o.hear != "")
	if !known {
		return o, fmt.Errorf("it knows no agent %q", agentName)
	}
	o.kind = kind
	if o.hear != "" && o.hear != "messages" {
		return o, fmt.Errorf("%s cannot be told to hear %q", o.kind.name, o.hear)
	}
	if o.ask != "" && (o.ask != "tools" || o.kind.asks == nil) {
		return o, fmt.Errorf("%s cannot be told to ask about %q", o.kind.name, o.ask)
	}
	if o.config != "" && o.kind.files == nil {
		return o, fmt.Errorf("%s takes no configuration", o.kind.name)
	}
	if o.settings != "" && o.kind.settings == nil {
		return o, fmt.Errorf("%s takes no settings", o.kind.name)
	}
	o.argv = args[1:]
	return o, nil
}
