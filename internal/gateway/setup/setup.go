package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/nearest"
	"torno/internal/trust"
)

// Setup holds the operator's routes and prices.
type Setup struct {
	Routes []*route.Route
	Prices prices.Table
}

// maxFile bounds the bytes of a configuration.
const maxFile = 8 << 20

// Load reads a file. If path is "", there are no routes.
func Load(path string) (Setup, error) {
	if path == "" {
		return Setup{}, nil
	}
	text, err := Read(path)
	if err != nil {
		return Setup{}, err
	}
	s, err := Parse(text)
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Read returns the content of a file. It refuses a file that another user could replace, because the file names the
// commands that print credentials.
func Read(path string) ([]byte, error) { return trust.Places().ReadFile(path, maxFile) }

// keys are the top-level keys of a configuration.
var keys = []string{"prices", "routes"}

// Parse reads a configuration.
func Parse(text []byte) (Setup, error) {
	said, err := document(text)
	if err != nil {
		return Setup{}, err
	}
	for key := range said {
		if slices.Contains(keys, key) {
			continue
		}
		if near := nearest.Word(key, keys); near != "" {
			return Setup{}, fmt.Errorf("%q is unknown; did you mean %s?", key, near)
		}
		return Setup{}, fmt.Errorf("%q is unknown; known are %s", key, strings.Join(keys, ", "))
	}
	routes, ok := said["routes"].(map[string]any)
	if !ok && said["routes"] != nil {
		return Setup{}, errors.New("routes: is not a list of routes by their names")
	}
	return Of(routes, said["prices"])
}

// Of makes a Setup from the parsed YAML of the two keys. The error is a *route.Error or a *prices.Error, which names
// the key.
func Of(routes map[string]any, priced any) (s Setup, err error) {
	if s.Routes, err = route.ParseAll(routes); err != nil {
		return Setup{}, err
	}
	if s.Prices, err = prices.Parse(priced); err != nil {
		return Setup{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Prices)) {
		if _, ok := routes[name]; !ok {
			return Setup{}, &prices.Error{Key: name, Text: fmt.Sprintf("there is no route %q", name)}
		}
	}
	return s, nil
}

// document reads the only YAML document of a file. It refuses aliases, because a few lines of them can unfold to
// gigabytes.
func document(text []byte) (map[string]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document begins; a configuration must be one document")
	}
	if hasAlias(&node) {
		return nil, errors.New("anchors and aliases are not allowed; write the text out")
	}
	var said map[string]any
	if err := node.Decode(&said); err != nil {
		return nil, err
	}
	return said, nil
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || slices.ContainsFunc(n.Content, hasAlias)
}
