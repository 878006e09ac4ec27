package processes

import "strings"

// anyGroupOf says whether one of a process's control groups, as the kernel lists them, is that of a container or lies in it.
func anyGroupOf(groups, container string) bool {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && isGroupOf(parts[2], container) {
			return true
		}
	}
	return false
}

// isGroupOf says whether a control group is that of a container, or lies in it. Engines write <parent>/<id> themselves, and have
// systemd make <slice>/docker-<id>.scope; which parent, the engine's configuration says and its API does not. Below user.slice are
// the groups that ordinary users name.
func isGroupOf(path, container string) bool {
	above := ""
	for element := range strings.SplitSeq(path, "/") {
		switch {
		case element == "user.slice":
			return false
		case element == container:
			return true
		case element == "docker-"+container+".scope" && (strings.HasSuffix(above, ".slice") || above == ".."): // .. in a namespace
			return true
		}
		above = element
	}
	return false
}
