package configs

import (
	"fmt"
	"maps"
	"slices"

	"torno/sandbox"
)

// registries are the routes that a word for packages opens, each of which has the name of its preset. They are read-only, and need no credential.
var registries = map[string][]string{"npm": {"npm"}, "pypi": {"pypi", "pypi-files"}, "go": {"goproxy"}}

// Registries are the words that --packages takes.
func Registries() []string { return slices.Sorted(maps.Keys(registries)) }

// CheckRegistries fails for a word that is none of them.
func CheckRegistries(words []string) error {
	for _, word := range words {
		if registries[word] == nil {
			return fmt.Errorf("there is no registry %q%s", word, suggest(word, Registries()))
		}
	}
	return nil
}

// openRegistries adds the routes of some words to the gateway's, and returns the ways of a door to them.
func openRegistries(routes map[string]any, words []string) (ways []sandbox.Route, err error) {
	if err := CheckRegistries(words); err != nil {
		return nil, err
	}
	for _, word := range words {
		for _, name := range registries[word] {
			if routes[name] == nil {
				routes[name] = map[string]any{"preset": name}
				ways = append(ways, sandbox.Route{Name: name, Prefix: "/" + name})
			}
		}
	}
	return ways, nil
}
