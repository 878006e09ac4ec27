package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/gateway"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/nearest"
)

// Setup is what the operator wrote.
type Setup struct {
	Routes []*route.Route
	Prices prices.Table
}

// maxFile bounds a configuration.
const maxFile = 1 << 20

// Load reads a file. Without one there are no routes.
func Load(path string) (Setup, error) {
	if path == "" {
		return Setup{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return Setup{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Setup{}, err
	}
	if len(text) > maxFile {
		return Setup{}, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	s, err := Parse(text)
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// keys are the words at the top of a configuration.
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
		return Setup{}, fmt.Errorf("%q is unknown; there are %s", key, strings.Join(keys, ", "))
	}
	routes, ok := said["routes"].(map[string]any)
	if !ok && said["routes"] != nil {
		return Setup{}, errors.New("routes: is not a list of routes by their names")
	}
	var s Setup
	if s.Routes, err = route.ParseAll(routes); err != nil {
		return Setup{}, err
	}
	if s.Prices, err = prices.Parse(said["prices"]); err != nil {
		return Setup{}, err
	}
	for name := range s.Prices {
		if _, ok := routes[name]; !ok {
			return Setup{}, fmt.Errorf("prices: there is no route %q", name)
		}
	}
	return s, nil
}

// document reads the one document of a file. Aliases are refused: a few lines of them are gigabytes.
func document(text []byte) (map[string]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document begins; a configuration is one")
	}
	if hasAlias(&node) {
		return nil, errors.New("anchors and aliases are not taken; write it out")
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

// Upstreams opens what the routes need. known remembers every secret that is read from then on.
func (s Setup) Upstreams(known *credential.Known) ([]*gateway.Upstream, error) {
	var all []*gateway.Upstream
	for _, r := range s.Routes {
		u, err := upstream(r, known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all = append(all, u)
	}
	return all, nil
}

func upstream(r *route.Route, known *credential.Known) (*gateway.Upstream, error) {
	source, err := credential.Open(r.Credential, known)
	if err != nil {
		return nil, err
	}
	rule := dial.Rule{
		Host: r.Upstream.Host, Plain: r.Upstream.Scheme == "http", Private: r.Private, Pins: r.Pins,
		MaxHeader: r.MaxHeader, Silence: r.Silence,
	}
	if r.Roots != "" {
		if rule.Roots, err = os.ReadFile(r.Roots); err != nil {
			return nil, err
		}
	}
	transport, err := rule.Transport()
	if err != nil {
		return nil, err
	}
	return &gateway.Upstream{Route: r, Transport: transport, Credential: source}, nil
}
