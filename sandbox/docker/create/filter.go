package create

import (
	"encoding/json"

	"torno/internal/seccomp"
)

// Filter holds both parts of the system call filter.
type Filter struct {
	Outline string // the engine puts it on before process 1 starts
	Program []byte // init puts it on before the agent starts
}

// FilterFor makes the filter for a processor architecture.
func FilterFor(arch string) (Filter, error) {
	filter := seccomp.Filter{Arch: arch}
	program, err := filter.Program()
	if err != nil {
		return Filter{}, err
	}
	outline, err := filter.Outline()
	if err != nil {
		return Filter{}, err
	}
	text, err := json.Marshal(outline)
	return Filter{string(text), program}, err
}
