package docker

import (
	"encoding/json"

	"torno/internal/seccomp"
)

// prepareFilter makes both parts of the filter: the outline, which the engine puts on before process 1 starts, and the
// program, which init puts on before the agent does.
func (l *Launcher) prepareFilter() (err error) {
	filter := seccomp.Filter{Arch: l.facts.Arch}
	if l.program, err = filter.Program(); err != nil {
		return err
	}
	outline, err := filter.Outline()
	if err != nil {
		return err
	}
	text, err := json.Marshal(outline)
	l.seccomp = string(text)
	return err
}
