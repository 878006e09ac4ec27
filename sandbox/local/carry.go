package local

import (
	"os"
	"path/filepath"
	"strings"

	"torno/internal/mounts"
	"torno/sandbox/local/hostroot"
)

// Carriers makes the directories in the slot that carry programs, for an engine that binds by path. The engine itself
// cannot make a place among the host's programs, because these are read-only. Each directory gets a place for every
// mount that the engine binds there.
func (p Pins) Carriers(slot *mounts.Slot) (all []hostroot.Bind, err error) {
	for _, v := range Views(p.wanted) {
		if !v.OnTheWay() || !p.wanted[v.Mounts[0]].Programs {
			continue // the engine makes the place
		}
		dir, err := slot.ViewDir(v.Number)
		if err != nil {
			return nil, err
		}
		for _, i := range v.Mounts {
			rel, err := v.Rel(p.wanted[i].Target)
			if err != nil {
				return nil, err
			}
			if err := makeCarried(dir, rel, p.pins[i].Dir); err != nil {
				return nil, err
			}
		}
		all = append(all, hostroot.Bind{Source: dir, Target: v.Prefix})
	}
	return all, nil
}

// makeCarried makes a directory or an empty file, and the directories above it, all open to every user.
func makeCarried(dir, rel string, isDir bool) error {
	names := strings.Split(rel, string(os.PathSeparator))
	last := len(names) - 1
	for i, name := range names {
		dir = filepath.Join(dir, name)
		if i == last && !isDir {
			return hostroot.WriteFile(dir, nil)
		}
		if err := hostroot.MakeDir(dir); err != nil {
			return err
		}
	}
	return nil
}
