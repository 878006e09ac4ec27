package docker

import (
	"encoding/json"

	"torno/internal/seccomp"
)

// filterText is a filter as a value of the engine's security option.
func filterText(f seccomp.Filter) (string, error) {
	profile, err := f.Profile()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(profile)
	return string(text), err
}
