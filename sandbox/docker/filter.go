package docker

import (
	"encoding/json"

	"torno/internal/seccomp"
)

// useFilter has sandboxes made with a filter.
func (l *Launcher) useFilter(f seccomp.Filter) (err error) {
	l.filter = f
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
