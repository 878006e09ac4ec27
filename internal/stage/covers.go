package stage

import (
	"fmt"
	"path"

	"torno/internal/runfile"
	"torno/sandbox"
)

// maxVolumes bounds how many VOLUMEs of an image are covered, since each cover has memory of its own.
const maxVolumes = 8

// Covers are the VOLUMEs of an image that need a private directory over them: all but those which have one.
func Covers(volumes []string) ([]string, error) {
	var covers []string
	for _, target := range volumes {
		clean := path.Clean(target)
		switch {
		case !path.IsAbs(clean) || clean == "/":
			return nil, fmt.Errorf("its VOLUME %q is no path that can be covered", target)
		case clean == "/tmp" || clean == sandbox.Home:
			continue
		case runfile.Holds(clean, runfile.Dir) || runfile.Holds("/run/torno", clean):
			return nil, fmt.Errorf("its VOLUME %q is in the way of the sandbox's own files", target)
		}
		covers = append(covers, clean)
	}
	if len(covers) > maxVolumes {
		return nil, fmt.Errorf("it has %d VOLUMEs, at most %d can be covered", len(covers), maxVolumes)
	}
	return covers, nil
}
