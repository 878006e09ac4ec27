package local

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/mounts"
	"torno/internal/paths"
	"torno/sandbox"
)

// View is one path prefix under which the sandbox sees mounts.
type View struct {
	Number int // of the slot's directory for it
	Prefix string
	Mounts []int // of the spec, outermost first
	// root is the name of the prefix in the view's directory: "." where the prefix only leads to mounts, and another
	// name where a mount lies at the prefix itself, so that an engine binds that mount.
	root string
}

// onPrefix is the name in a view's directory that a mount at the prefix itself gets.
const onPrefix = "self"

// Views returns one view for each prefix.
func Views(wanted []sandbox.Mount) []View {
	var views []View
	for i, m := range wanted {
		at := slices.IndexFunc(views, func(v View) bool { return v.Prefix == m.Prefix })
		if at < 0 {
			at = len(views)
			views = append(views, View{Number: at, Prefix: m.Prefix, root: "."})
		}
		views[at].Mounts = append(views[at].Mounts, i)
		if m.Target == m.Prefix {
			views[at].root = onPrefix
		}
	}
	return views
}

// Prefixes returns the prefix of each view.
func Prefixes(wanted []sandbox.Mount) (all []string) {
	for _, v := range Views(wanted) {
		all = append(all, v.Prefix)
	}
	return all
}

// OnTheWay says that no mount lies at the prefix itself: the directory there is ours, and only leads to mounts.
func (v View) OnTheWay() bool { return v.root == "." }

// Rel returns the path of a target in the view's directory.
func (v View) Rel(target string) (string, error) {
	if !paths.Within(v.Prefix, target) {
		return "", fmt.Errorf("mount %q does not lie below its prefix %q", target, v.Prefix)
	}
	return path.Join(v.root, strings.TrimPrefix(target, v.Prefix)), nil
}

// Source returns the path that an engine binds at the prefix.
func (v View) Source(slot *mounts.Slot) (string, error) {
	dir, err := slot.ViewDir(v.Number)
	return filepath.Join(dir, v.root), err
}
