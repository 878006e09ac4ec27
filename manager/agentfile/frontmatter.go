package agentfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	maxFile  = 256 << 10
	maxFront = 64 << 10
	maxDepth = 32
	maxNodes = 8192
)

// frontMatter is the form that Jarvis asks for: a line of three hyphens, YAML, such a line again, and the prompt.
var frontMatter = regexp.MustCompile(`\A---\r?\n((?s:.*?))\r?\n---(?:\r?\n((?s:.*)))?\z`)

// byteOrderMark stands at the beginning of a file from some editors.
var byteOrderMark = []byte("\xef\xbb\xbf")

var (
	errNoFrontMatter = errors.New("missing frontmatter")
	errNotYAML       = errors.New("has front matter that is not YAML (its line 1 is line 2 of the file; quote a text that holds a colon)")
	errNotText       = errors.New("is not text: it holds a NUL byte or is not UTF-8")
)

// split returns the top node of a file's front matter, and the prompt.
func split(text []byte) (top *yaml.Node, prompt string, err error) {
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		return nil, "", errNotText
	}
	parts := frontMatter.FindSubmatch(bytes.TrimPrefix(text, byteOrderMark))
	if parts == nil {
		return nil, "", errNoFrontMatter
	}
	if len(parts[1]) > maxFront {
		return nil, "", fmt.Errorf("has more than %d KiB of front matter", maxFront>>10)
	}
	top, err = parse(parts[1])
	if errors.Is(err, errNotYAML) {
		if again, ok := quoted(parts[1]); ok {
			top, err = parse(again)
		}
	}
	return top, strings.TrimSpace(string(parts[2])), err
}

// bareDescription matches a description in one line without quotes.
var bareDescription = regexp.MustCompile(`(?m)^description:[ \t]+([^ \t\r\n"'|>\[{&*!].*?)[ \t]*\r?$`)

// quoted returns the front matter with quotes around such a description. Claude Code writes descriptions without
// quotes, and their examples hold colons, which end a text in YAML. quoted changes no other line, and the result is
// checked as if a person had written it.
func quoted(front []byte) ([]byte, bool) {
	at := bareDescription.FindSubmatchIndex(front)
	if at == nil {
		return nil, false
	}
	text := bytes.ReplaceAll(front[at[2]:at[3]], []byte("'"), []byte("''"))
	return slices.Concat(front[:at[2]], []byte("'"), text, []byte("'"), front[at[3]:]), true
}

// parse reads one YAML mapping. Its nodes get the line numbers of the file, where a line of hyphens stands before the
// YAML.
func parse(front []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(front))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotYAML, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has front matter of more than one YAML document")
	}
	nodes := 0
	if err := check(&document, 0, &nodes); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("has front matter that is no list of keys and values")
	}
	return document.Content[0], nil
}

// check refuses values that make a small file large or say one thing twice, and moves each node to its line in the
// file.
func check(n *yaml.Node, depth int, nodes *int) error {
	n.Line++
	*nodes++
	switch {
	case *nodes > maxNodes:
		return fmt.Errorf("has more than %d values in its front matter", maxNodes)
	case depth > maxDepth:
		return fmt.Errorf("is nested more than %d deep at line %d", maxDepth, n.Line)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("has an anchor or an alias at line %d; write the value out", n.Line)
	case n.Kind != yaml.DocumentNode && !plainTag(n.ShortTag()):
		return fmt.Errorf("has a value of the type %q at line %d; quote it to make it text", n.ShortTag(), n.Line)
	}
	for _, inner := range n.Content {
		if err := check(inner, depth+1, nodes); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		return checkKeys(n)
	}
	return nil
}

func plainTag(tag string) bool {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!timestamp":
		return true
	}
	return false
}

func checkKeys(n *yaml.Node) error {
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("has a key that is not a word at line %d", key.Line)
		}
		if line, twice := lines[key.Value]; twice {
			return fmt.Errorf("has the key %s twice, at lines %d and %d; remove one of them", quote(key.Value), line, key.Line)
		}
		lines[key.Value] = key.Line
	}
	return nil
}
