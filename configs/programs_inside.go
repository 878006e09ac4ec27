package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// maxLooked bounds how much of a profile's programs is looked through.
const maxLooked = 200_000

// LookThrough says what lies in the profiles' programs and should not: sockets, to which a child may connect although it can
// write nothing, and what looks like a key. It reads names, and a tree with very many of them not to its end, which it says.
func (c Config) LookThrough() []Warning {
	r := &report{noLines: true}
	for _, p := range c.Profiles {
		for i, given := range p.Programs {
			lookThrough(r, fmt.Sprintf("profiles.%s.programs[%d]", p.Name, i), given.Host)
		}
	}
	return r.warnings
}

// errEnough ends a look.
var errEnough = errors.New("enough")

func lookThrough(r *report, at, host string) {
	looked := 0
	err := filepath.WalkDir(host, func(name string, entry fs.DirEntry, err error) error {
		if looked++; looked > maxLooked {
			r.warn(at, "%s holds more than %d files; the rest was not looked through for sockets and keys", host, maxLooked)
			return errEnough
		}
		if err != nil {
			return fs.SkipDir // it is closed to us, or gone
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

// isKey finds files that are keys by custom.
func isKey(name string) bool {
	return slices.Contains(keyFiles, name) || slices.Contains([]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, name)
}
