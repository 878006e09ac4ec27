package profile

import (
	"embed"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

//go:embed builtin/*/SUBAGENT.md
var builtInFiles embed.FS

// Template returns an example of a SUBAGENT.md, for the directory _template.
func Template() []byte {
	data, err := builtInFiles.ReadFile("builtin/" + template + "/SUBAGENT.md")
	if err != nil {
		panic(err) // it is part of the program
	}
	return data
}

// BuiltIn returns the profiles that are always there, sorted by name.
func BuiltIn() []Profile {
	entries, err := builtInFiles.ReadDir("builtin")
	if err != nil {
		panic(err) // it is part of the program
	}
	var all []Profile
	for _, entry := range entries {
		if entry.Name() == template {
			continue
		}
		name := path.Join("builtin", entry.Name(), "SUBAGENT.md")
		data, err := builtInFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		p, err := Parse(name, entry.Name(), data)
		if err != nil {
			panic(fmt.Sprintf("a profile that is part of the program: %v", err))
		}
		all = append(all, p)
	}
	return all
}

// All returns the built-in profiles and the profiles of directories. A profile of a directory replaces a built-in
// profile of the same name, and a profile of an earlier directory.
func All(directories ...*os.Root) (profiles []Profile, warnings []string, err error) {
	theirs, warnings, err := Load(directories...)
	if err != nil {
		return nil, nil, err
	}
	profiles = theirs
	for _, p := range BuiltIn() {
		if !slices.ContainsFunc(theirs, func(other Profile) bool { return strings.EqualFold(other.Name, p.Name) }) {
			profiles = append(profiles, p)
		}
	}
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return profiles, warnings, nil
}
