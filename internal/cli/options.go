package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Option is one flag of a command.
type Option struct {
	Name  string
	Short string // one letter, or ""
	Value string // the value, as the help shows it; "" for a switch
	Help  string
	Set   func(string) error
	Words []string // the values that a shell offers; nil if they cannot be listed
}

// Args holds the operands of a command.
type Args struct {
	Words  []string
	Behind []string // the operands after "--"; nil without "--"
}

// All returns all operands, before and after "--".
func (a Args) All() []string { return slices.Concat(a.Words, a.Behind) }

// parse applies the options among args and returns the operands. If interspersed is false, everything from the first
// operand on counts as an operand.
func parse(args []string, options []Option, interspersed bool) (found Args, err error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			found.Behind = append([]string{}, args[1:]...)
			return found, nil
		case arg != "-" && strings.HasPrefix(arg, "-"):
			if args, err = apply(apart(args, options), options); err != nil {
				return found, err
			}
		case !interspersed:
			found.Words = args
			return found, nil
		default:
			found.Words, args = append(found.Words, arg), args[1:]
		}
	}
	return found, nil
}

// apart splits letters that stand together, such as -aq, if each of them is a switch.
func apart(args []string, options []Option) []string {
	letters := strings.TrimPrefix(args[0], "-")
	if len(letters) < 2 || strings.HasPrefix(letters, "-") {
		return args
	}
	var switches []string
	for _, letter := range letters {
		if !slices.ContainsFunc(options, func(o Option) bool { return o.Short == string(letter) && o.Value == "" }) {
			return args
		}
		switches = append(switches, "-"+string(letter))
	}
	return append(switches, args[1:]...)
}

// apply sets the option at the beginning of args. It returns the arguments after the option and its value.
func apply(args []string, options []Option) ([]string, error) {
	name, value, joined := strings.Cut(args[0], "=")
	i := slices.IndexFunc(options, func(o Option) bool {
		return name == "--"+o.Name || o.Short != "" && name == "-"+o.Short
	})
	if i < 0 {
		return nil, Unknown("option", name, dashed(options))
	}
	o, rest := options[i], args[1:]
	switch {
	case o.Value == "" && joined:
		return nil, Usage("%s takes no value", name)
	case o.Value != "" && !joined && (len(rest) == 0 || rest[0] == "--"):
		return nil, Usage("%s needs a value: %s", name, o.Value)
	case o.Value != "" && !joined:
		value, rest = rest[0], rest[1:]
	}
	if err := o.Set(value); err != nil {
		return nil, Usage("%s %q: %v", name, value, err)
	}
	return rest, nil
}

func dashed(options []Option) []string {
	all := make([]string, len(options))
	for i, o := range options {
		all[i] = "--" + o.Name
	}
	return all
}

var errEmpty = errors.New("must not be empty")

// Text returns an Option.Set that fills a variable. List, On, Number and Duration do the same for other types.
func Text(to *string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errEmpty
		}
		*to = s
		return nil
	}
}

// List returns a setter that appends, for an option that may be repeated.
func List(to *[]string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errEmpty
		}
		*to = append(*to, s)
		return nil
	}
}

// On returns the setter of a switch.
func On(to *bool) func(string) error {
	return func(string) error { *to = true; return nil }
}

// Number returns a setter that accepts whole numbers from 1 on.
func Number[T int | int64](to *T) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return errors.New("is not a number from 1 on")
		}
		*to = T(n)
		return nil
	}
}

// Duration returns a setter that accepts positive durations. A number alone counts as seconds.
func Duration(to *time.Duration) func(string) error {
	return func(s string) error {
		if _, err := strconv.ParseUint(s, 10, 32); err == nil {
			s += "s"
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return errors.New("is not a positive duration such as 90s, 5m or 1h30m; a number alone means seconds")
		}
		*to = d
		return nil
	}
}
