package units

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Unit is a service as systemd reads it, with its drop-ins.
type Unit struct {
	settings map[string][]string // of [Service], by name; an empty value has taken away what was said before
}

// untried are settings that put no wall around the service, and why none of them is tried here.
var untried = map[string]string{
	"Type":                     "how systemd knows that it is ready; the message is waited for",
	"NotifyAccess":             "who may say so",
	"ExecStart":                "held against the program's own options",
	"ExecReload":               "a signal, which is tried where reloading is",
	"StateDirectory":           "held against the place where the state is looked for",
	"StateDirectoryMode":       "the watcher demands it",
	"KillMode":                 "tried by killing what it says",
	"TimeoutStopSec":           "held against the configuration's own budget",
	"WatchdogSec":              "tried with a real systemd, by package installed",
	"Environment":              "the same",
	"Restart":                  "when it is started again",
	"RestartSec":               "the same",
	"RestartPreventExitStatus": "held against the program's exit codes",
	"OOMPolicy":                "what systemd does when the kernel has killed one process of the service",
	"TasksMax":                 "taken away, so that there is nothing to meet",
	"MemoryMax":                "held against the gateway's own bound, which a test of its own measures",
	"User":                     "the service is another user than the watcher, whichever",
	"UMask":                    "the gateway sets the modes of what it makes",
	"RestrictNamespaces":       "a filter of systemd's for calls of which the gateway makes none",
	"SystemCallFilter":         "a list of systemd's that differs from one version to the next",
	"SystemCallErrorNumber":    "what that filter answers",
	"ProtectSystem":            "a view of the files in which the state directory alone can be written; that nothing else is, is tried",
	"ProtectHome":              "the same view",
	"PrivateTmp":               "the same view",
	"PrivateDevices":           "the same view",
	"ProtectControlGroups":     "the same view",
	"ProtectKernelTunables":    "the same view",
	"ProtectClock":             "capabilities and devices, of which it has none",
	"ProtectHostname":          "the same",
	"ProtectKernelLogs":        "the same",
	"ProtectKernelModules":     "the same",
}

// lists are settings that add to what was said before.
var lists = []string{"CapabilityBoundingSet", "RestrictAddressFamilies"}

// Parse reads a service and what is dropped in. A setting that is neither tried nor said to be untried is an error, so that
// a new wall is not added before its effects are known.
func Parse(texts ...string) (Unit, error) {
	u := Unit{map[string][]string{}}
	var errs []error
	for _, text := range texts {
		section := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			name, value, assigned := strings.Cut(line, "=")
			switch {
			case line == "", line[0] == '#', line[0] == ';':
			case line[0] == '[':
				section = line
			case !assigned:
				errs = append(errs, fmt.Errorf("%q is no setting", line))
			case section == "[Service]":
				errs = append(errs, u.set(strings.TrimSpace(name), strings.TrimSpace(value)))
			}
		}
	}
	return u, errors.Join(errs...)
}

func (u Unit) set(name, value string) error {
	if _, tried := enter[name]; !tried && untried[name] == "" {
		return fmt.Errorf("%s is not known here: say how it is tried", name)
	}
	if value == "" || !slices.Contains(lists, name) {
		u.settings[name] = nil
	}
	if value != "" {
		u.settings[name] = append(u.settings[name], strings.Fields(value)...)
	}
	return nil
}

// Get returns the last value of a setting.
func (u Unit) Get(name string) string { return strings.Join(u.settings[name], " ") }

// With is the unit with one more line, as a drop-in has it.
func (u Unit) With(name, value string) Unit {
	more := Unit{maps.Clone(u.settings)}
	if err := more.set(name, value); err != nil {
		panic(err)
	}
	return more
}

// Without is the unit with a word less in one of its lists.
func (u Unit) Without(name, word string) Unit {
	less := Unit{maps.Clone(u.settings)}
	less.settings[name] = slices.DeleteFunc(slices.Clone(u.settings[name]), func(w string) bool { return w == word })
	return less
}

// Walls are the restrictions that the settings put on a service. They can be written as JSON.
type Walls struct {
	Capabilities []string // the bounding set; nil is all, and empty is none
	Families     []string // of sockets; nil is all
	NoNewPrivs   bool
	NoRealtime   bool
	NoSetID      bool
	OneABI       bool // system calls of the native architecture only
	Personality  bool // stays as it is
	NoNewCode    bool // memory that could be written is not executed
	NoCore       bool
	OpenFiles    uint64
}

// enter says for each wall how a unit's words become one.
var enter = map[string]func(w *Walls, words []string) error{
	"CapabilityBoundingSet": func(w *Walls, words []string) error {
		if len(words) == 0 {
			w.Capabilities = []string{}
			return nil
		}
		return some(&w.Capabilities, words)
	},
	"RestrictAddressFamilies": func(w *Walls, words []string) error { return some(&w.Families, words) },
	"NoNewPrivileges":         func(w *Walls, words []string) error { return yes(&w.NoNewPrivs, words) },
	"RestrictRealtime":        func(w *Walls, words []string) error { return yes(&w.NoRealtime, words) },
	"RestrictSUIDSGID":        func(w *Walls, words []string) error { return yes(&w.NoSetID, words) },
	"LockPersonality":         func(w *Walls, words []string) error { return yes(&w.Personality, words) },
	"MemoryDenyWriteExecute":  func(w *Walls, words []string) error { return yes(&w.NoNewCode, words) },
	"LimitCORE": func(w *Walls, words []string) error {
		if !slices.Equal(words, []string{"0"}) {
			return fmt.Errorf("%q is not 0", words)
		}
		w.NoCore = true
		return nil
	},
	"SystemCallArchitectures": func(w *Walls, words []string) error {
		if !slices.Equal(words, []string{"native"}) {
			return fmt.Errorf("%q is not native", words)
		}
		w.OneABI = true
		return nil
	},
	"LimitNOFILE": func(w *Walls, words []string) (err error) {
		w.OpenFiles, err = strconv.ParseUint(strings.Join(words, " "), 10, 32)
		return err
	},
}

// some is an allow-list. A list that begins with ~ would be a deny-list; no unit of ours has one.
func some(list *[]string, words []string) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "~") {
		return fmt.Errorf("%q allows nothing by name", words)
	}
	*list = words
	return nil
}

func yes(flag *bool, words []string) (err error) {
	switch said := strings.Join(words, " "); said {
	case "yes":
		*flag = true
	case "no":
		*flag = false
	default:
		err = fmt.Errorf("%q is neither yes nor no", said)
	}
	return err
}

// Walls returns the walls of the unit.
func (u Unit) Walls() (w Walls, err error) {
	for name, words := range u.settings {
		if put, ok := enter[name]; ok {
			if err := put(&w, words); err != nil {
				return w, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return w, nil
}
