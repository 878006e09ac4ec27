package configs

import (
	"fmt"
	"maps"
	"slices"

	"torno/sandbox"
)

// registries maps each word of --packages to the routes that it opens. Each route has the name of its preset. None of
// them can write, and none needs a credential.
var registries = map[string][]string{"npm": {"npm"}, "pypi": {"pypi", "pypi-files"}, "go": {"goproxy"}}

// Registries lists the words that --packages takes.
func Registries() []string { return slices.Sorted(maps.Keys(registries)) }

// CheckRegistries fails if one of the words names no registry.
func CheckRegistries(words []string) error {
	for _, word := range words {
		if registries[word] == nil {
			return fmt.Errorf("there is no registry %q%s", word, suggest(word, Registries()))
		}
	}
	return nil
}

// openRegistries adds the routes of these words to the gateway's routes. It returns the entries that a door needs to
// open the added routes.
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
