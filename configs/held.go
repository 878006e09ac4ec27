package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/trust"
)

// The watcher executes what these places say: commands and programs that the configuration names, what the journal and the
// boxes in the state directory order, and what the files of credentials hold. So each of them is held as a program is: only
// root and the watcher's user can exchange it, or a directory or link that leads there. The configuration is looked at
// before it is read, at the start and at each reload; everything else that it names is looked at before anything is served.

// HeldFile refuses a place for a configuration that another user can exchange.
func HeldFile(path string) error {
	_, err := trust.Places().Follow(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ofFile(path, err)
}

// ofFile says which configuration another user could replace, and where one is held.
func ofFile(path string, err error) error {
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return fmt.Errorf("another user could replace the configuration %s: %w; have it elsewhere, as in %s",
			path, loose, usual("/etc/torno/watcher.yaml", "~/.config/torno/watcher.yaml"))
	}
	return err
}

// usual returns a place that is held: the system's for root, and otherwise the user's own.
func usual(system, user string) string {
	if os.Geteuid() == 0 {
		return system
	}
	return user
}

// HeldState refuses a state directory that another user can exchange. One that is not there is fine as far as its path leads.
func HeldState(dir string) error {
	_, err := trust.Places().Follow(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return fmt.Errorf("another user could replace the state directory %s: %w; name another one, as %s",
			dir, loose, usual("/var/lib/torno", "~/.local/state/torno"))
	}
	return err
}

// readHeld reads a configuration that no other user can exchange.
func readHeld(path string) ([]byte, error) {
	file, err := trust.Places().OpenFile(path)
	if err != nil {
		return nil, ofFile(path, err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// checkHeld looks at what the configuration names and the watcher obeys.
func (c *Config) checkHeld(r *report) {
	if err := HeldState(c.State); err != nil {
		r.problem("state", "%v", err)
	}
	if !c.Gateway.Own() { // the directory belongs to the gateway's user; what leads there does not
		checkFollowed(r, "gateway.state", filepath.Dir(c.Gateway.State))
		return
	}
	for _, route := range c.Gateway.Routes() {
		key := "gateway.routes." + route.Name + ".credential"
		switch at := route.Credential; {
		case len(at.Command) > 0:
			for _, word := range at.Command { // a shell's script is obeyed as the shell
				if filepath.IsAbs(word) {
					checkFollowed(r, key, word)
				}
			}
		case at.Path != "":
			checkFollowed(r, key, at.Path)
		}
	}
}

// checkFollowed reports a place that another user can exchange. What is missing, or closed to us, is told where it is used.
func checkFollowed(r *report, key, path string) {
	_, err := trust.Places().Follow(path)
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		r.problem(key, "another user could replace %s: %v; have it where only root and the watcher's user may write", path, loose)
	}
}
