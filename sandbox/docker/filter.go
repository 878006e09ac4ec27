package docker

import (
	"encoding/json"

	"torno/internal/seccomp"
)

// unfiltered is for an engine that filters nothing itself.
const unfiltered = "unconfined"

// useFilter has sandboxes made with a filter. gVisor as the engine's runtime leaves one aside that it is given, or takes
// long to read it: there init brings the program.
func (l *Launcher) useFilter(f seccomp.Filter) (err error) {
	l.filter = f
	if l.facts.runtime.gVisor {
		l.seccomp = unfiltered
		l.program, err = f.Program()
		return err
	}
	l.seccomp, err = filterText(f)
	return err
}

// filterText is a filter as a value of the engine's security option.
func filterText(f seccomp.Filter) (string, error) {
	profile, err := f.Profile()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(profile)
	return string(text), err
}
