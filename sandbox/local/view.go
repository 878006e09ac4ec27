package local

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/mounts"
	"torno/internal/paths"
	"torno/internal/trust"
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

// ArrivesFile says, of a sandbox without a run, whether a file arrives at a view's prefix itself, or a directory: the profile's programs
// may be a file, as they are now, and nothing else is expected to be one. Should they be replaced by the time of a run, that gets no such sandbox.
func ArrivesFile(v View, wanted []sandbox.Mount) (bool, error) {
	for _, i := range v.Mounts {
		if m := wanted[i]; m.Programs && m.Target == v.Prefix {
			held, err := trust.Places().Open(m.Source.Base)
			if err != nil {
				return false, fmt.Errorf("programs of the profile: %w", err)
			}
			defer held.Close()
			info, err := held.Stat()
			return err == nil && !info.IsDir(), err
		}
	}
	return false, nil
}

// SocketViews returns one view for each socket, behind those of the mounts. A socket lies at the prefix itself, or the directory of one that
// lasts does.
func SocketViews(s sandbox.Spec) (views []View) {
	first := len(Views(s.Mounts))
	for i, socket := range s.Sockets {
		views = append(views, View{Number: first + i, Prefix: SocketPlace(socket), root: onPrefix})
	}
	return views
}

// SocketPlace is where a sandbox gets something so that it finds a socket at its target.
func SocketPlace(s sandbox.Socket) string {
	if s.Lasting {
		return path.Dir(s.Target)
	}
	return s.Target
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
