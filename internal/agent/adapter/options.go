package adapter

import (
	"errors"
	"fmt"
	"strings"
)

// Usage is how the adapter is called.
const Usage = "usage: sandbox-init agent claude|codex --task FILE [--model M] [--answer FILE] [--session FILE] [--ask tools] -- PROGRAM [ARG…]"

type options struct {
	kind                kind
	task, model, answer string
	session             string
	ask                 string // what the agent asks about before it does it
	argv                []string
}

// parse reads the arguments behind "agent".
func parse(args []string) (o options, err error) {
	if len(args) == 0 {
		return o, errors.New("it takes the name of an agent")
	}
	kind, known := kindOf(args[0])
	if !known {
		return o, fmt.Errorf("%q is no agent that it knows", args[0])
	}
	o.kind = kind
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
		case "--answer":
			o.answer = value
		case "--session":
			o.session = value
		case "--ask":
			o.ask = value
		default:
			return o, fmt.Errorf("it does not take %q", flag)
		}
		if value == "" {
			return o, fmt.Errorf("%s lacks its value", flag)
		}
	}
	if len(args) < 2 || o.task == "" {
		return o, errors.New("it takes --task and, behind --, a program")
	}
	if o.ask != "" && (o.ask != "tools" || o.kind.asks == nil) {
		return o, fmt.Errorf("%s cannot be told to ask about %q", o.kind.name, o.ask)
	}
	o.argv = args[1:]
	return o, nil
}
