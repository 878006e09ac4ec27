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

// Template is an example of a SUBAGENT.md, for the directory _template.
func Template() []byte {
	data, err := builtInFiles.ReadFile("builtin/" + template + "/SUBAGENT.md")
	if err != nil {
		panic(err) // it is part of the program
	}
	return data
}

// BuiltIn are the profiles that are always there, in the order of their names.
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

// All are the built-in profiles and those of directories, each of which replaces what came before it under the same name.
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
