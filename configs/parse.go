package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"torno/internal/launcher"
)

// maxFile bounds the size of a configuration, in bytes.
const maxFile = 1 << 20

// Load reads a configuration file, which may have the keys of these launchers. The error is an *Error unless the file
// cannot be read.
func Load(launchers launcher.List, path string) (Config, []Warning, error) {
	data, err := readHeld(path)
	if err != nil {
		return Config{}, nil, fmt.Errorf("read the configuration: %w", err)
	}
	c, warnings, err := Parse(launchers, path, data)
	c.file = path
	return c, warnings, err
}

// Parse reads a configuration from data. Problems show name as its file. If the configuration does not name the state
// directory or the engine, Parse takes them from the environment: STATE_DIRECTORY, XDG_STATE_HOME, HOME and
// DOCKER_HOST.
func Parse(launchers launcher.List, name string, data []byte) (Config, []Warning, error) {
	return parse(launchers, &report{file: name, lines: make(map[string]int)}, data, thisHost())
}

// Validate checks a Config that was made or changed in code. It writes the Config and reads it back, so the same checks
// apply as to a file.
func (c Config) Validate() ([]Warning, error) {
	data, err := c.Marshal()
	if err != nil {
		return nil, err
	}
	nothing := func(string) string { return "" }
	_, warnings, err := parse(c.launchers, &report{lines: make(map[string]int), noLines: true}, data, host{nothing, c.cpus})
	return warnings, err
}

func parse(launchers launcher.List, r *report, data []byte, host host) (Config, []Warning, error) {
	c := newConfig(launchers, host.cpus)
	if root := readDocument(r, data); root != nil {
		c.schema().read(r, "", root)
		if !r.given("version") {
			r.missing("version", "is missing; write version: 1")
		}
		c.complete(r, host.getenv)
		c.check(r)
	}
	warnings, err := r.result()
	if err != nil {
		return Config{}, warnings, err
	}
	return c, warnings, nil
}

// readDocument returns the only document of the file. It refuses everything that could give the text another meaning
// than it seems to have. After a problem it returns nil.
func readDocument(r *report, data []byte) *yaml.Node {
	var document, next yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		r.problem("", "is empty; a configuration begins with version: 1")
		return nil
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		r.lines[""] = next.Line
		r.problem("", "a second document begins here; a configuration is a single document")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(data, err)
		return nil
	}
	refuseTricks(r, &document)
	if len(r.problems) > 0 || len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	r.lines[""] = root.Line
	if root.Kind != yaml.MappingNode {
		r.problem("", "%s is no configuration; a configuration begins with version: 1", kindOf(root))
		return nil
	}
	return root
}

// atLine matches an error of the YAML library, with the number of the line if the library names one.
var atLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func (r *report) syntax(data []byte, err error) {
	text := err.Error()
	r.lines[""] = unreadable(data)
	if found := atLine.FindStringSubmatch(text); found != nil {
		if line, err := strconv.Atoi(found[1]); err == nil {
			r.lines[""] = line
		}
		text = found[2]
	}
	r.problem("", "is not YAML: %s", text)
}

// unreadable returns the line of the first byte that is not text, or 1 if there is none. It is needed because the YAML
// library names no line for such a byte.
func unreadable(data []byte) int {
	for i, c := range string(data) {
		_, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 || unicode.IsControl(c) && !strings.ContainsRune("\t\n\r\u0085", c) {
			return 1 + bytes.Count(data[:i], []byte("\n"))
		}
	}
	return 1
}

// refuseTricks reports aliases, anchors, merge keys and tags. They would make a value appear in a place where it is not
// written, or give it another type.
func refuseTricks(r *report, n *yaml.Node) {
	refuse := func(what string) {
		r.lines[""] = n.Line
		r.problem("", "%s; write the value out where it is meant", what)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		refuse("aliases (*" + n.Value + ") are not allowed")
	case n.Anchor != "":
		refuse("anchors (&" + n.Anchor + ") are not allowed")
	case n.ShortTag() == "!!merge":
		refuse("merge keys (<<) are not allowed")
	case n.Style&yaml.TaggedStyle != 0:
		refuse("tags (" + n.Tag + ") are not allowed")
	}
	for _, inner := range n.Content {
		refuseTricks(r, inner)
	}
}
