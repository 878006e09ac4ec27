package docker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// pinMounts finds and holds what the request names.
func (m *making) pinMounts(context.Context) error {
	for _, wanted := range m.order.spec.Mounts {
		pin, err := m.order.bases.Pin(wanted.Source)
		var wrong *mounts.PathError
		switch {
		case errors.As(err, &wrong):
			return refuse(wanted, wrong.Reason(), hintFor(wrong))
		case err != nil:
			return err
		}
		m.pins = append(m.pins, pin)
		if wanted.Workspace && !pin.Dir {
			return refuse(wanted, "is not a directory", "name a directory")
		}
	}
	return nil
}

// refuse turns a mount down; the path is in the parent's own words.
func refuse(m sandbox.Mount, why, hint string) *delegation.Refusal {
	if m.Workspace {
		return &delegation.Refusal{
			Code: delegation.CodeWorkspace, Field: "workspace", Text: fmt.Sprintf("Workspace %q %s", m.Target, why), Hint: hint,
		}
	}
	return &delegation.Refusal{
		Code: delegation.CodeContext, Field: "context_paths", Text: fmt.Sprintf("Context path %q %s", m.Target, why), Hint: hint,
	}
}

func hintFor(wrong *mounts.PathError) string {
	switch wrong.Kind {
	case mounts.KindKept:
		return wrong.Err.Error()
	case mounts.KindMissing:
		return "create it before the request is written"
	case mounts.KindLink:
		return "name the real path; a file must have one name only"
	case mounts.KindNotDir, mounts.KindSpecial:
		return "name a directory, or for context a regular file"
	case mounts.KindMountpoint:
		return "have the operator list the mount as a root of its own"
	case mounts.KindDenied:
		return "have the operator give the watcher access to it"
	default:
		return "name a path under a root that this outbox allows"
	}
}

// identify decides as whom the sandbox runs.
func (m *making) identify(context.Context) error {
	if m.byHandle {
		id := m.options.UIDs.First + uint32(m.slot.Number())
		m.recipe.uid, m.recipe.gid = id, id
		return nil
	}
	for i, wanted := range m.order.spec.Mounts {
		if wanted.Workspace {
			m.recipe.uid, m.recipe.gid = m.pins[i].UID, m.pins[i].GID
			return checkOwner(m.recipe.uid, m.recipe.gid, m.order.spec.Owners)
		}
	}
	return errors.New("a sandbox without a workspace has nobody to run as; by path it runs as the workspace's owner")
}

// checkOwner is for sandboxes that run as the owner of their workspace.
func checkOwner(uid, gid uint32, owners []uint32) error {
	refusal := &delegation.Refusal{Code: delegation.CodeIdentity, Field: "workspace"}
	switch {
	case uid == 0 || gid == 0:
		refusal.Text = fmt.Sprintf("The workspace belongs to %d:%d, and no sandbox runs as root or in root's group", uid, gid)
		refusal.Hint = "give the workspace to an ordinary user and group"
	case !slices.Contains(owners, uid):
		refusal.Text = fmt.Sprintf("The workspace belongs to user %d, as whom sandboxes of this outbox may not run", uid)
		refusal.Hint = "have the operator add the user to the outbox's owners"
	default:
		return nil
	}
	return refusal
}

// layMounts brings the pins into the sandbox.
func (m *making) layMounts(context.Context) error {
	if m.byHandle {
		return m.layByHandle()
	}
	return m.layByPath()
}

// layByPath names them to the engine, which looks them up again; init proves what it found.
func (m *making) layByPath() error {
	for i, wanted := range m.order.spec.Mounts {
		source := wanted.Engine
		if source == "" {
			var err error
			if source, err = m.pins[i].HerePath(); err != nil {
				return fmt.Errorf("find %q: %w", wanted.Target, err)
			}
		}
		bound := readOnlyBind(source, wanted.Target)
		bound.ReadOnly = !wanted.Workspace
		m.recipe.mounts = append(m.recipe.mounts, bound)
	}
	return nil
}

// layByHandle moves clones of them into the slot, and has the engine bind the slot's views.
func (m *making) layByHandle() error {
	views := viewsOf(m.order.spec.Mounts)
	for number, view := range views {
		for _, i := range view.mounts {
			if err := m.placeMount(i, number, view); err != nil {
				return err
			}
		}
		bound, err := m.bindView(number, view)
		if err != nil {
			return err
		}
		m.recipe.mounts = append(m.recipe.mounts, bound)
	}
	return nil
}

// view is one path prefix under which the sandbox sees mounts.
type view struct {
	prefix string
	mounts []int // of the spec, outermost first
	// root is where the prefix is in the view's directory: "." where the prefix is only a way to the mounts, and
	// another name where a mount lies at the prefix itself, so that the engine binds that mount.
	root string
}

// onPrefix is the name in a view's directory that a mount at the prefix itself gets.
const onPrefix = "self"

func viewsOf(wanted []sandbox.Mount) []view {
	var views []view
	for i, m := range wanted {
		at := slices.IndexFunc(views, func(v view) bool { return v.prefix == m.Prefix })
		if at < 0 {
			at = len(views)
			views = append(views, view{prefix: m.Prefix, root: "."})
		}
		views[at].mounts = append(views[at].mounts, i)
		if m.Target == m.Prefix {
			views[at].root = onPrefix
		}
	}
	return views
}

// rel is where in the view's directory a target lies.
func (v view) rel(target string) (string, error) {
	if !runfile.Holds(v.prefix, target) {
		return "", fmt.Errorf("mount %q does not lie below its prefix %q", target, v.prefix)
	}
	return path.Join(v.root, strings.TrimPrefix(target, v.prefix)), nil
}

// placeMount clones a pin with the child's identity in place of its owner's, and puts it into the slot.
func (m *making) placeMount(i, number int, v view) error {
	wanted, pin := m.order.spec.Mounts[i], m.pins[i]
	rel, err := v.rel(wanted.Target)
	if err != nil {
		return err
	}
	ids, err := m.idmaps.Get(pin.Owner(), mounts.Identity{UID: m.recipe.uid, GID: m.recipe.gid})
	if err != nil {
		return err
	}
	defer ids.Close()
	tree, err := pin.Clone(mounts.CloneOptions{ReadOnly: !wanted.Workspace, IDMap: ids})
	if err != nil {
		return err
	}
	defer tree.Close()
	err = m.slot.Place(tree, number, rel)
	if errors.Is(err, mounts.ErrNoPlace) || errors.Is(err, mounts.ErrTaken) {
		return refuse(wanted, "does not fit into the mount around it", "make it a directory there too, or name it apart")
	}
	return err
}

// bindView is how the engine shows a view. A mount at the prefix has its own mode and its flags, which binding it
// read-only would set anew. What leads only to mounts is ours and read-only, and the mounts below it keep their modes.
func (m *making) bindView(number int, v view) (mount.Mount, error) {
	dir, err := m.slot.ViewDir(number)
	if err != nil {
		return mount.Mount{}, err
	}
	source, err := m.options.EnginePath(filepath.Join(dir, v.root))
	if err != nil {
		return mount.Mount{}, err
	}
	onTheWay := v.root == "."
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: v.prefix, ReadOnly: onTheWay,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave, ReadOnlyNonRecursive: onTheWay},
	}, nil
}

// addSockets adds the profile's sockets and what every sandbox has.
func (m *making) addSockets(context.Context) error {
	for _, socket := range m.order.spec.Sockets {
		found, err := m.checkSocket(socket)
		if err != nil {
			return err
		}
		m.sockets = append(m.sockets, runfile.Mount{Path: socket.Target, Device: found.dev, Inode: found.ino})
		source, err := m.options.EnginePath(socket.Host)
		if err != nil {
			return err
		}
		m.recipe.mounts = append(m.recipe.mounts, readOnlyBind(source, socket.Target))
	}
	return nil
}
