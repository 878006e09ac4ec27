package runfile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"torno/internal/paths"
)

// These bound the length of a nonce. A nonce keeps sandboxes apart; it is no secret.
const (
	minNonce = 16
	maxNonce = 128
)

// Validate returns an error if a File is faulty, before anything is done with it. The host calls it when it writes a
// File, and init calls it again when it reads one.
func (f File) Validate() error {
	if f.Version != Version {
		return fmt.Errorf("version is %d and this is version %d", f.Version, Version)
	}
	for _, check := range []func() error{
		f.validateNonce, f.validateArgv, f.validateEnv, f.validateProcess, f.validateMounts, f.validateAnswer, f.validateDoors, f.validateForwards,
		f.validateTime,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (f File) validateDoors() error {
	if len(f.Doors) > maxDoors {
		return fmt.Errorf("%d sockets are too many, at most %d are possible", len(f.Doors), maxDoors)
	}
	for _, d := range f.Doors {
		if err := validatePath("socket", d.Path); err != nil {
			return err
		}
	}
	return nil
}

func (f File) validateForwards() error {
	if len(f.Forwards) > maxDoors {
		return fmt.Errorf("%d ports are too many, at most %d are possible", len(f.Forwards), maxDoors)
	}
	for i, forward := range f.Forwards {
		if forward.Port < MinPort {
			return fmt.Errorf("port %d is below %d", forward.Port, MinPort)
		}
		if err := validatePath("socket", forward.Path); err != nil {
			return err
		}
		if slices.ContainsFunc(f.Forwards[:i], func(other Forward) bool { return other.Port == forward.Port }) {
			return fmt.Errorf("port %d is there twice", forward.Port)
		}
	}
	return nil
}

// ValidateFilter returns an error if a filter is faulty, before anything is done with it. Both sides call it, as they
// do Validate.
func ValidateFilter(filter []byte) error {
	switch {
	case len(filter)%StepSize != 0:
		return fmt.Errorf("filter has %d bytes, which is not a whole number of steps", len(filter))
	case len(filter) == 0 || len(filter) > maxSteps*StepSize:
		return fmt.Errorf("filter has %d steps and may have 1 to %d", len(filter)/StepSize, maxSteps)
	}
	return nil
}

func (f File) validateTime() error {
	if f.Allowed < 0 || f.Grace < 0 || (f.Allowed == 0) != (f.Grace == 0) {
		return fmt.Errorf("allowed is %s with a grace of %s, and both are positive, or neither is given", f.Allowed, f.Grace)
	}
	return nil
}

func (f File) validateNonce() error {
	if len(f.Nonce) < minNonce || len(f.Nonce) > maxNonce {
		return fmt.Errorf("nonce has %d characters and may have %d to %d", len(f.Nonce), minNonce, maxNonce)
	}
	for _, c := range f.Nonce {
		if c <= ' ' || c > '~' {
			return errors.New("nonce has a character that is not printable ASCII")
		}
	}
	return nil
}

func (f File) validateArgv() error {
	if len(f.Argv) == 0 || f.Argv[0] == "" {
		return errors.New("argv names no program")
	}
	for i, arg := range f.Argv {
		if !isText(arg) {
			return fmt.Errorf("argv[%d] is not text: UTF-8 without a zero byte", i)
		}
	}
	return nil
}

func (f File) validateEnv() error {
	seen := make(map[string]bool, len(f.Env))
	for i, entry := range f.Env {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
			return fmt.Errorf("env[%d] is not NAME=value", i)
		case !isText(entry):
			return fmt.Errorf("env[%d] (%q) is not text: UTF-8 without a zero byte", i, name)
		case seen[name]:
			return fmt.Errorf("env names %s twice", name)
		}
		seen[name] = true
	}
	return nil
}

func (f File) validateProcess() error {
	if err := validatePath("dir", f.Dir); err != nil {
		return err
	}
	if f.Umask < 0 || f.Umask > 0o777 {
		return fmt.Errorf("%#o is not a umask", f.Umask)
	}
	var seen []string
	for _, limit := range f.Rlimits {
		if !slices.Contains(RlimitNames, limit.Name) {
			return fmt.Errorf("rlimit %q is not one of %s", limit.Name, strings.Join(RlimitNames, ", "))
		}
		if slices.Contains(seen, limit.Name) {
			return fmt.Errorf("rlimit %s is there twice", limit.Name)
		}
		seen = append(seen, limit.Name)
	}
	return nil
}

func (f File) validateMounts() error {
	seen := make(map[string]bool, len(f.Mounts))
	for _, m := range f.Mounts {
		if err := validatePath("mount", m.Path); err != nil {
			return err
		}
		switch {
		case m.Unnumbered && (m.Device != 0 || m.Inode != 0):
			return fmt.Errorf("mount %q is unnumbered and has a device or an inode", m.Path)
		case m.Unnumbered && m.Hardened:
			return fmt.Errorf("mount %q is unnumbered and has flags to compare", m.Path)
		case !m.Unnumbered && (m.Device == 0 || m.Inode == 0):
			return fmt.Errorf("mount %q has no device and inode to compare with", m.Path)
		}
		if seen[m.Path] {
			return fmt.Errorf("mount %q is there twice", m.Path)
		}
		seen[m.Path] = true
	}
	return nil
}

func (f File) validateAnswer() error {
	if f.Answer.Path == "" {
		if f.Answer.FromStdout {
			return errors.New("answer has no path to be written to")
		}
		return nil
	}
	if err := validatePath("answer", f.Answer.Path); err != nil {
		return err
	}
	if i := f.MountOf(f.Answer.Path); i < 0 || !f.Mounts[i].Writable || f.Mounts[i].Path == f.Answer.Path {
		return fmt.Errorf("answer %q does not lie in a writable mount", f.Answer.Path)
	}
	if f.Answer.FromStdout && (f.Answer.Max <= 0 || f.Answer.Max > MaxAnswer) {
		return fmt.Errorf("answer may have 1 to %d bytes at most, not %d", MaxAnswer, f.Answer.Max)
	}
	return nil
}

// MountOf returns the index of the innermost mount that holds the path, or -1.
func (f File) MountOf(name string) int {
	best := -1
	for i, m := range f.Mounts {
		if paths.Within(m.Path, name) && (best < 0 || len(m.Path) > len(f.Mounts[best].Path)) {
			best = i
		}
	}
	return best
}

// validatePath allows only one spelling of a path, so that comparing texts is comparing paths.
func validatePath(what, name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name || !isText(name) {
		return fmt.Errorf("%s %q is not a clean absolute path", what, name)
	}
	return nil
}

// isText reports whether a text comes out of JSON as it went in, and fits into an argument of the kernel.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
