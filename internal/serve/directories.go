package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"torno/configs"
	"torno/delegation"
	"torno/internal/lock"
	"torno/internal/mounts"
	"torno/internal/paths"
	"torno/internal/trust"
)

// openOutboxes opens each outbox once. The lock, the watcher and the launchers get the directory that was opened here,
// and not whatever is at its path later. Outboxes that lie at their configured paths come first. If links of another
// outbox lead to the same directory, that other outbox is closed.
func (h *host) openOutboxes(context.Context) error {
	h.dirs = make([]*delegation.Dir, len(h.Config.Outboxes))
	h.later(h.closeDirs)
	for i, o := range h.Config.Outboxes {
		if why := h.closed[o.Name]; why != nil {
			if err := h.closeOutbox(i, why); err != nil {
				return err
			}
		}
	}
	opened := map[string]os.FileInfo{}
	for _, i := range h.openInOrder() {
		if why := h.openOutbox(i, opened); why != nil {
			if err := h.closeOutbox(i, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// openInOrder returns the outboxes that are not closed. Outboxes that lie at their configured paths come first.
func (h *host) openInOrder() (all []int) {
	var led []int
	for i := range h.Config.Outboxes {
		switch {
		case h.isClosed(i):
		case h.Config.Outboxes[i].IsPlain():
			all = append(all, i)
		default:
			led = append(led, i)
		}
	}
	return append(all, led...)
}

// openOutbox opens one outbox. Its directory must not be open already. opened holds the open directories, by the names
// of their outboxes.
func (h *host) openOutbox(i int, opened map[string]os.FileInfo) (err error) {
	o := h.Config.Outboxes[i]
	trusted, err := mounts.OpenTrustedDir(o.Dir) // so no link of a parent leads to another's outbox
	if err != nil {
		return err
	}
	defer trusted.Close()
	if h.dirs[i], err = delegation.OpenDir(o.Dir); err != nil {
		return err
	}
	info, err := h.dirs[i].Info()
	if err != nil {
		return fmt.Errorf("look at the outbox: %w", err)
	}
	if is, err := trusted.Stat(); err != nil || !os.SameFile(is, info) {
		return errors.Join(fmt.Errorf("outbox %q %w: it was replaced while it was opened", o.Dir, delegation.ErrMoved), err)
	}
	for name, other := range opened {
		if os.SameFile(info, other) {
			return fmt.Errorf("outboxes %s and %s are one directory, %s; give each parent a directory of its own", name, o.Name, o.Dir)
		}
	}
	opened[o.Name] = info
	return nil
}

func (h *host) closeDirs() (err error) {
	for _, dir := range h.dirs {
		if dir != nil {
			err = errors.Join(err, dir.Close())
		}
	}
	return err
}

// openRoots opens every directory that a parent reaches, and withholds everything that no child may see. If directories
// clash with places that must be apart from them, it closes the outbox that owns the directories, and begins again.
func (h *host) openRoots(context.Context) error {
	h.later(h.closeBases)
	for {
		_, clash, err := h.tryRoots(false)
		if clash == nil || err != nil {
			return err
		}
		whose, clash, err := h.tryRoots(true)
		if clash == nil || err != nil {
			return err
		}
		if whose < 0 {
			return clash
		}
		if err := h.closeOutbox(whose, clash); err != nil {
			return err
		}
		if h.servesNobody() {
			return clash
		}
	}
}

// tryRoots opens the roots of all open outboxes. Outboxes that lie at their configured paths come first. clash says
// which directories are not apart. With each, tryRoots checks after each outbox; then whose is the first outbox that
// clashes, or -1 if the clash is not an outbox's.
func (h *host) tryRoots(each bool) (whose int, clash, err error) {
	if err := h.closeBases(); err != nil {
		return -1, nil, err
	}
	if h.bases, err = mounts.OpenBases(nil); err != nil {
		return -1, nil, err
	}
	if err := withhold(h.bases, h.Config, h.Log); err != nil {
		return -1, nil, err
	}
	if clash := h.clash(); clash != nil {
		return -1, clash, nil
	}
	for _, i := range h.openInOrder() {
		if why := errors.Join(h.openRootsOf(i), h.withholdHeld(i)); why != nil {
			if err := h.closeOutbox(i, why); err != nil {
				return -1, nil, err
			}
			continue
		}
		if !each {
			continue
		}
		if clash := h.clash(); clash != nil {
			return i, clash, nil
		}
	}
	return -1, h.clash(), nil
}

// clash returns an error if directories of parents overlap with places that must be apart from them.
func (h *host) clash() error { return errors.Join(h.bases.Check(), rootsApart(h.Config, h.bases)) }

func (h *host) closeBases() error {
	if h.bases == nil {
		return nil
	}
	err := h.bases.Close()
	h.bases = nil
	return err
}

// openRootsOf opens the roots of one outbox, and the outbox as one of them. The outbox must be the directory that is
// held.
func (h *host) openRootsOf(i int) error {
	if err := h.bases.Add(roots(h.Config.Outboxes[i : i+1])); err != nil {
		return err
	}
	dir := h.dirs[i]
	info, err := dir.Info()
	if err != nil {
		return fmt.Errorf("look at the outbox: %w", err)
	}
	if !h.bases.Is(dir.Path(), info) {
		return fmt.Errorf("outbox %q %w: it was replaced while the watcher started", dir.Path(), delegation.ErrMoved)
	}
	return nil
}

// rootsApart refuses root file systems and programs that another user could exchange, or that requests can reach under
// any name. The launcher looks again for each sandbox.
func rootsApart(c configs.Config, bases *mounts.Bases) error {
	for _, p := range c.Profiles {
		if _, path, placed := p.RootFS.Place(); placed {
			if err := apart(bases, path); err != nil {
				return fmt.Errorf("the root file system of profile %s, %s: %w; keep it apart from all places that requests reach", p.Name, path, err)
			}
		}
		for _, given := range p.Programs {
			if err := apart(bases, given.Host); err != nil {
				return fmt.Errorf("the programs %s of profile %s: %w; keep them apart from all places that requests reach", given.Host, p.Name, err)
			}
		}
	}
	return nil
}

func apart(bases *mounts.Bases, path string) error {
	held, err := trust.Places().Open(path)
	if err != nil {
		return err
	}
	return errors.Join(bases.Apart(held), held.Close())
}

// roots returns the directories that the host must hold. A root that lies in its outbox is not among them: it is opened
// beneath the outbox, anew for every run.
func roots(outboxes []configs.Outbox) []string {
	var all []string
	for _, o := range outboxes {
		all = append(all, o.Dir)
		for _, root := range slices.Concat(o.Allow, o.Read) {
			if !paths.Within(o.Dir, root) {
				all = append(all, root)
			}
		}
	}
	return all
}

// openBases opens the directories of parents. It withholds our own files and the outboxes themselves from sandboxes. If
// a directory is part of those, that is the operator's mistake.
func openBases(c configs.Config, paths []string, log *slog.Logger) (*mounts.Bases, error) {
	bases, err := mounts.OpenBases(paths)
	if err != nil {
		return nil, err
	}
	err = withhold(bases, c, log)
	for i := range c.Outboxes {
		err = errors.Join(err, withholdOutbox(bases, c, i, c.Outboxes[i].Dir))
	}
	if err == nil {
		err = bases.Check()
	}
	if err != nil {
		return nil, errors.Join(err, bases.Close())
	}
	return bases, nil
}

// withhold keeps our own files from sandboxes, under every name. A credential of the gateway may lie where another user can
// make the way to it a loop, or put a file in the way. So that this user cannot keep the watcher from starting, withhold
// only warns then.
func withhold(bases *mounts.Bases, c configs.Config, log *slog.Logger) error {
	for _, place := range withheldPlaces(c) {
		err := bases.Withhold(place)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
		case place.What == credentials && errors.Is(err, fs.ErrPermission): // the watcher cannot mount a place that it cannot reach
		case place.What != credentials || !leadsNowhere(err):
			return err
		default:
			log.Warn("a credential of the gateway cannot be found, so it is not kept from sandboxes by its place", "path", place.Path, "error", err)
		}
	}
	return nil
}

// leadsNowhere reports whether a path could not be followed because of what lies on it.
func leadsNowhere(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// withholdHeld keeps the held directory of an outbox from sandboxes, whatever is at its path.
func (h *host) withholdHeld(i int) error {
	held, err := h.dirs[i].Reopen()
	if err != nil {
		return err
	}
	defer held.Close()
	return withholdOutbox(h.bases, h.Config, i, fmt.Sprintf("/proc/self/fd/%d", held.Fd()))
}

// withholdOutbox keeps an outbox itself from sandboxes, under every name. place is a path of it.
func withholdOutbox(bases *mounts.Bases, c configs.Config, i int, place string) error {
	err := bases.Withhold(mounts.Withheld{
		Path: place, What: "an outbox, where no child may write or read requests", Inside: basesOf(c.Outboxes, i),
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// credentials describes the gateway's credentials in the list of withheld places.
const credentials = "a credential of the gateway"

// withheldPlaces returns the places that children must not see at all. The launchers withhold more of their own.
func withheldPlaces(c configs.Config) []mounts.Withheld {
	places := []mounts.Withheld{
		{Path: c.State, What: "Torno's own state", Apart: true},
		{Path: lock.RuntimeDir(), What: "Torno's own locks"},
	}
	if !c.Gateway.Own() {
		places = append(places, mounts.Withheld{Path: c.Gateway.State, What: "the gateway's directory"})
	}
	for _, file := range c.Files() {
		places = append(places, mounts.Withheld{Path: file, What: "the watcher's configuration", Socket: true}) // Socket: the file, and whatever holds it
	}
	files, dirs := c.Gateway.Credentials()
	for _, file := range files {
		places = append(places, mounts.Withheld{Path: file, What: credentials, Socket: true}) // the same
	}
	for _, dir := range dirs {
		places = append(places, mounts.Withheld{Path: dir, What: credentials})
	}
	return places
}

// basesOf returns the bases that this outbox alone has. Files in an outbox are reached only through them.
func basesOf(outboxes []configs.Outbox, i int) []string {
	others := roots(slices.Delete(slices.Clone(outboxes), i, i+1))
	return slices.DeleteFunc(roots(outboxes[i:i+1]), func(path string) bool { return slices.Contains(others, path) })
}
