package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/trust"
)

// The watcher obeys several files: the configuration names commands and programs, the journal and the boxes in the
// state directory give orders, and credential files hold secrets that it uses. So each of these must be as safe as a
// program: only root and the watcher's user can replace it, or a directory or link on the way to it. The configuration
// is checked before it is read, at the start and at each reload. Everything that it names is checked before anything is
// served.

// HeldFile returns an error if another user could replace the configuration at this path.
func HeldFile(path string) error {
	_, err := trust.Places().Follow(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ofFile(path, err)
}

// ofFile explains an error of package trust: it names the configuration that another user could replace, and a safe
// place for it. Other errors stay as they are.
func ofFile(path string, err error) error {
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return fmt.Errorf("another user could replace the configuration %s: %w; move it to a safe place, such as %s",
			path, loose, usual("/etc/torno/watcher.yaml", "~/.config/torno/watcher.yaml"))
	}
	return err
}

// usual returns the usual safe place: the system's for root, and the user's own for other users.
func usual(system, user string) string {
	if os.Geteuid() == 0 {
		return system
	}
	return user
}

// HeldState returns an error if another user could replace the state directory. If the directory does not exist yet,
// the existing part of its path is checked.
func HeldState(dir string) error {
	_, err := trust.Places().Follow(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return fmt.Errorf("another user could replace the state directory %s: %w; name another one, such as %s",
			dir, loose, usual("/var/lib/torno", "~/.local/state/torno"))
	}
	return err
}

// readHeld reads the configuration, unless another user could replace it.
func readHeld(path string) ([]byte, error) {
	text, err := trust.Places().ReadFile(path, maxFile)
	return text, ofFile(path, err)
}

// checkHeld reports places that the watcher obeys and that another user could replace.
func (c *Config) checkHeld(r *report) {
	if err := HeldState(c.State); err != nil {
		r.problem("state", "%v", err)
	}
	if !c.Gateway.Own() { // the directory belongs to the gateway's user; only the way to it is checked
		checkFollowed(r, "gateway.state", filepath.Dir(c.Gateway.State))
		return
	}
	for _, route := range c.Gateway.Routes() {
		key := "gateway.routes." + route.Name + ".credential"
		if route.Roots != "" {
			checkFollowed(r, "gateway.routes."+route.Name+".roots", route.Roots)
		}
		switch at := route.Credential; {
		case len(at.Command) > 0:
			for _, word := range at.Command { // also a script that the command gives to a shell
				if filepath.IsAbs(word) {
					checkFollowed(r, key, word)
				}
			}
		case at.Path != "":
			checkFollowed(r, key, at.Path)
		}
	}
}

// checkFollowed reports a place that another user can replace. It ignores a place that is missing or closed to us: that
// is reported when the place is used.
func checkFollowed(r *report, key, path string) {
	_, err := trust.Places().Follow(path)
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		r.problem(key, "another user could replace %s: %v; put it where only root and the watcher's user may write", path, loose)
	}
}
