package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// maxLooked bounds how many files LookThrough looks at for one entry of programs.
const maxLooked = 200_000

// LookThrough warns, for each entry of programs, of the first file that should not lie there: a socket, because a child
// may connect to it although it cannot write there, or a file that looks like a key. It reads names only. In a tree
// with more than maxLooked files it stops early and says so.
func (c Config) LookThrough() []Warning {
	r := &report{noLines: true}
	for _, p := range c.Profiles {
		for i, given := range p.Programs {
			lookThrough(r, fmt.Sprintf("profiles.%s.programs[%d]", p.Name, i), given.Host)
		}
	}
	return r.warnings
}

// errEnough ends the walk through a tree.
var errEnough = errors.New("enough")

func lookThrough(r *report, at, host string) {
	looked := 0
	err := filepath.WalkDir(host, func(name string, entry fs.DirEntry, err error) error {
		if looked++; looked > maxLooked {
			r.warn(at, "%s holds more than %d files; the rest was not looked through for sockets and keys", host, maxLooked)
			return errEnough
		}
		if err != nil {
			return fs.SkipDir // the directory is closed to us, or gone
		}
		switch {
		case entry.Type() == fs.ModeSocket:
			r.warn(at, "%s is a socket: children can connect to it, if its mode lets other users", name)
			return errEnough
		case isKey(entry.Name()) && !entry.IsDir(), entry.IsDir() && slices.Contains(keyDirs, entry.Name()):
			r.warn(at, "%s looks like a key, which children can read, if its mode lets other users", name)
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		r.warn(at, "cannot be looked through: %v", err)
	}
}

// isKey reports whether a file of this name usually is a key.
func isKey(name string) bool {
	return slices.Contains(keyFiles, name) || slices.Contains([]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, name)
}
