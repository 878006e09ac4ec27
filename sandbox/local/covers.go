package local

import (
	"fmt"
	"path"
	"slices"

	"torno/internal/paths"
	"torno/sandbox"
)

// maxVolumes bounds how many VOLUMEs of an image are covered, because each cover has memory of its own.
const maxVolumes = 8

// reserved are the parts of a sandbox that no image may change: the kernel's file systems, /etc, and our own directory.
var reserved = []string{"/proc", "/sys", "/dev", "/etc", "/run/torno"}

// Covers returns the VOLUMEs of an image that need a private directory over them. It leaves out those where the sandbox
// mounts something anyway. It refuses a VOLUME that is, holds or lies in a path of ours: the child could write there,
// and our files would be hidden.
func Covers(volumes []string, spec sandbox.Spec) ([]string, error) {
	return covers(volumes, reserved, targets(spec))
}

// targets returns the paths where a sandbox has mounts of its own.
func targets(spec sandbox.Spec) []string {
	all := []string{"/tmp", sandbox.Home}
	for _, m := range spec.Mounts {
		all = append(all, m.Prefix, m.Target)
	}
	for _, s := range spec.Sockets {
		all = append(all, s.Target)
	}
	return all
}

func covers(volumes, reserved, mounted []string) ([]string, error) {
	var all []string
	for _, target := range volumes {
		clean := path.Clean(target)
		inTheWay := func(of string) bool { return paths.Nested(of, clean) }
		switch {
		case !path.IsAbs(clean) || clean == "/":
			return nil, fmt.Errorf("its VOLUME %q is not a path that can be covered", target)
		case slices.ContainsFunc(reserved, inTheWay):
			return nil, fmt.Errorf("its VOLUME %q is in the way of the sandbox's own files", target)
		case slices.Contains(mounted, clean):
			continue
		case slices.ContainsFunc(mounted, inTheWay):
			return nil, fmt.Errorf("its VOLUME %q is in the way of a mount in the sandbox", target)
		}
		all = append(all, clean)
	}
	if len(all) > maxVolumes {
		return nil, fmt.Errorf("it has %d VOLUMEs, at most %d can be covered", len(all), maxVolumes)
	}
	return all, nil
}
