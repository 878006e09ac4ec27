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
	Number int // number of the slot's directory for the view
	Prefix string
	Mounts []int // indexes into the spec's mounts, outermost first
	// root is the name of the prefix in the view's directory. It is "." if the prefix only leads to mounts. If a mount
	// lies at the prefix itself, root is onPrefix, so that an engine binds this mount.
	root string
}

// onPrefix is the name, in a view's directory, of a mount at the prefix itself.
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

// ArrivesFile reports, for a sandbox without a run, whether a file will arrive at the view's prefix itself, and not a
// directory. Only the profile's programs may be a file; ArrivesFile looks at them as they are now. If they have been
// replaced by the time of a run, this run does not get such a sandbox.
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

// SocketViews returns one view for each socket, numbered after the views of the mounts. At the prefix lies the socket
// itself, or the directory of a lasting socket.
func SocketViews(s sandbox.Spec) (views []View) {
	first := len(Views(s.Mounts))
	for i, socket := range s.Sockets {
		views = append(views, View{Number: first + i, Prefix: SocketPlace(socket), root: onPrefix})
	}
	return views
}

// SocketPlace returns the path where the sandbox gets a mount so that it finds the socket at its target.
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

// OnTheWay reports whether no mount lies at the prefix itself: then the directory there is ours and only leads to
// mounts.
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
