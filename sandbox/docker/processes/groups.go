package processes

import "strings"

// anyGroupOf reports whether one of a process's control groups, in the kernel's list, is a container's or lies in it.
func anyGroupOf(groups, container string) bool {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && isGroupOf(parts[2], container) {
			return true
		}
	}
	return false
}

// isGroupOf reports whether a control group is a container's or lies in it. Engines write <parent>/<id> themselves, or
// have systemd make <slice>/docker-<id>.scope. The parent is set in the engine's configuration, and the API does not
// tell it. Groups below user.slice never count, because ordinary users choose their names.
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
