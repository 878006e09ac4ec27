package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is one flag of a command.
type option struct {
	name  string
	short string // one letter, or ""
	value string // what it takes, as the help shows it; "" for a switch
	help  string
	set   func(string) error
}

// parse applies the options among args and returns the operands. Behind "--" everything is an operand. Unless
// interspersed, so is everything from the first operand on.
func parse(args []string, options []option, interspersed bool) (operands []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return append(operands, args[1:]...), nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if !interspersed {
				return args, nil
			}
			operands, args = append(operands, arg), args[1:]
			continue
		}
		if args, err = apply(args, options); err != nil {
			return nil, err
		}
	}
	return operands, nil
}

// apply sets the option at the beginning of args and returns what follows it and its value.
func apply(args []string, options []option) ([]string, error) {
	name, value, joined := strings.Cut(args[0], "=")
	i := slices.IndexFunc(options, func(o option) bool {
		return name == "--"+o.name || o.short != "" && name == "-"+o.short
	})
	if i < 0 {
		return nil, unknown("option", name, dashed(options))
	}
	o, rest := options[i], args[1:]
	switch {
	case o.value == "" && joined:
		return nil, usage("%s takes no value", name)
	case o.value != "" && !joined && len(rest) == 0:
		return nil, usage("%s needs a value: %s", name, o.value)
	case o.value != "" && !joined:
		value, rest = rest[0], rest[1:]
	}
	if err := o.set(value); err != nil {
		return nil, usage("%s %q: %v", name, value, err)
	}
	return rest, nil
}

func dashed(options []option) []string {
	all := make([]string, len(options))
	for i, o := range options {
		all[i] = "--" + o.name
	}
	return all
}

// text, on, list, duration and number set a variable.
func text(to *string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		*to = s
		return nil
	}
}

func on(to *bool) func(string) error {
	return func(string) error { *to = true; return nil }
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		*to = append(*to, s)
		return nil
	}
}

func duration(to *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return errors.New("is not a positive duration such as 90s, 5m or 1h30m")
		}
		*to = d
		return nil
	}
}

func number(to *int64) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return errors.New("is not a number from 1 on")
		}
		*to = n
		return nil
	}
}
