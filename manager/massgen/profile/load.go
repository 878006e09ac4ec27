package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/beneath"
)

// These constants bound how much is read.
const (
	maxFile     = 256 << 10
	maxProfiles = 200 // per directory
)

// template is the directory with an example.
const template = "_template"

// Load reads the profiles of directories. A profile replaces a profile of the same name from an earlier directory. Load
// returns the profiles sorted by name. The warnings say which profiles were skipped.
func Load(directories ...*os.Root) (profiles []Profile, warnings []string, err error) {
	byName := map[string]Profile{}
	for _, dir := range directories {
		if dir == nil {
			continue
		}
		found, skipped, err := load(dir)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, skipped...)
		for _, p := range found {
			byName[strings.ToLower(p.Name)] = p
		}
	}
	for _, p := range byName {
		profiles = append(profiles, p)
	}
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return profiles, warnings, nil
}

// load reads the profiles of one directory, in the order of the directory names.
func load(root *os.Root) (profiles []Profile, warnings []string, err error) {
	held, err := root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer held.Close()
	entries, err := held.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	names := map[string]string{}
	for _, entry := range entries {
		if entry.Name() == template || !entry.IsDir() {
			continue
		}
		if len(names) == maxProfiles {
			return nil, nil, fmt.Errorf("%s has more than %d profiles; move some away", root.Name(), maxProfiles)
		}
		p, err := read(root, entry.Name())
		switch {
		case errors.Is(err, errNoDescription):
			warnings = append(warnings, err.Error())
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue // a directory for something else
		case err != nil:
			return nil, nil, err
		}
		lower := strings.ToLower(p.Name)
		if other := names[lower]; other != "" {
			return nil, nil, fmt.Errorf("%s and %s in %s have the same name '%s'. Rename one of them", other, entry.Name(), root.Name(), p.Name)
		}
		names[lower] = entry.Name()
		profiles = append(profiles, p)
	}
	return profiles, warnings, nil
}

func read(root *os.Root, dir string) (Profile, error) {
	name := filepath.Join(dir, "SUBAGENT.md")
	path := filepath.Join(root.Name(), name)
	data, more, err := beneath.ReadFile(root, name, maxFile)
	if err == nil && more {
		err = fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	if err != nil {
		return Profile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return Parse(path, dir, data)
}
