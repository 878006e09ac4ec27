package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Profile is one kind of subagent.
type Profile struct {
	Name          string
	Description   string
	Skills        []string
	ExpectedInput []string
	SystemPrompt  string
	Source        []byte // the unchanged file
}

var keys = []string{"name", "description", "skills", "expected_input"}

// errNoDescription means that the profile is skipped.
var errNoDescription = errors.New("has no description, so it is skipped. Add a line 'description: …' to it")

// maxName bounds the name of a profile, in characters.
const maxName = 64

// Parse reads a SUBAGENT.md. It uses path and dir in its errors, and dir as the name if the file gives none.
func Parse(path, dir string, data []byte) (Profile, error) {
	head, body, err := split(data)
	if err != nil {
		return Profile{}, fmt.Errorf("%s %w", path, err)
	}
	fields, err := mapping(path, head)
	if err != nil {
		return Profile{}, err
	}
	p := Profile{Name: dir, SystemPrompt: strings.TrimSpace(string(body)), Source: data}
	for _, one := range []struct {
		key  string
		into *string
	}{{"name", &p.Name}, {"description", &p.Description}} {
		if err := text(path, one.key, fields[one.key], one.into); err != nil {
			return Profile{}, err
		}
	}
	for _, one := range []struct {
		key  string
		into *[]string
	}{{"skills", &p.Skills}, {"expected_input", &p.ExpectedInput}} {
		if err := texts(path, one.key, fields[one.key], one.into); err != nil {
			return Profile{}, err
		}
	}
	if p.Name == "" {
		p.Name = dir
	}
	if err := checkName(p.Name); err != nil {
		return Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	if p.Description == "" {
		return Profile{}, fmt.Errorf("%s %w", path, errNoDescription)
	}
	return p, nil
}

// split separates the front matter, which begins in the second line of the file, from the text after it.
func split(data []byte) (head, body []byte, err error) {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, nil, errors.New("does not begin with a line '---'. Put its fields between two such lines")
	}
	if body, ok := bytes.CutPrefix(rest, []byte("---\n")); ok {
		return nil, body, nil
	}
	head, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		head, ok = bytes.CutSuffix(rest, []byte("\n---"))
	}
	if !ok {
		return nil, nil, errors.New("has no second line '---'. Put its fields between two such lines")
	}
	return head, body, nil
}

// mapping returns the fields of the front matter. An unknown field, or a field that occurs twice, is an error.
func mapping(path string, head []byte) (map[string]*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(head, &document); err != nil {
		return nil, fmt.Errorf("the fields of %s are not YAML, lines counted from the first '---': %w", path, err)
	}
	fields := map[string]*yaml.Node{}
	if len(document.Content) == 0 {
		return fields, nil
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("the fields of %s are no mapping. Write 'description: …'", path)
	}
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if key.Kind != yaml.ScalarNode || !slices.Contains(keys, key.Value) {
			return nil, refuse("Unsupported specialized subagent frontmatter fields in %s: %.100s. Allowed fields: %s (line %d)", path, key.Value, strings.Join(keys, ", "), line(key))
		}
		if fields[key.Value] != nil {
			return nil, fmt.Errorf("%s has the field '%s' twice, again in line %d. Leave one of them", path, key.Value, line(key))
		}
		fields[key.Value] = value
	}
	return fields, nil
}

// refusal is one of MassGen's texts plus the line. The text begins like a sentence.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// line returns the node's line in the file. The front matter begins in the second line.
func line(node *yaml.Node) int { return node.Line + 1 }

func text(path, key string, node *yaml.Node, into *string) error {
	if node == nil || node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.ScalarNode || node.Tag != "!!str" {
		return refuse("Invalid '%s' field in %s: expected a string (line %d)", key, path, line(node))
	}
	*into = strings.TrimSpace(node.Value)
	return nil
}

func texts(path, key string, node *yaml.Node, into *[]string) error {
	if node == nil || node.Tag == "!!null" {
		return nil
	}
	wrong := node.Kind != yaml.SequenceNode
	for _, entry := range node.Content {
		wrong = wrong || entry.Kind != yaml.ScalarNode || entry.Tag != "!!str"
		*into = append(*into, entry.Value)
	}
	if wrong {
		return refuse("Invalid '%s' field in %s: expected a list of strings (line %d)", key, path, line(node))
	}
	return nil
}

// checkName accepts only names that can name a directory everywhere, because MassGen writes active profiles into one.
func checkName(name string) error {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("the name %.100q is none. Use up to %d letters, digits, '_' and '-'", name, maxName)
	}
	return nil
}
