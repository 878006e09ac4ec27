package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxArguments bounds the canonical arguments of a call, in bytes.
const MaxArguments = 12 << 10

// maxDepth bounds how deep arguments may be nested.
const maxDepth = 24

// Canonical writes a call's arguments, a JSON object, in their one form: no spaces, the members of an object in the
// order of their names, and characters unescaped wherever JSON allows it. Numbers keep their text. Canonical refuses
// two members of the same name, because two readers could take different ones.
func Canonical(arguments []byte) ([]byte, error) {
	if !utf8.Valid(arguments) {
		return nil, errors.New("the arguments are not UTF-8")
	}
	from := json.NewDecoder(bytes.NewReader(arguments))
	from.UseNumber()
	value, err := read(from, 0)
	if err != nil {
		return nil, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the arguments")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("the arguments are not an object")
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(value); err != nil { // the encoder sorts the members of a map by name
		return nil, err
	}
	text := bytes.TrimRight(out.Bytes(), "\n")
	if len(text) > MaxArguments {
		return nil, fmt.Errorf("the arguments have %d bytes, more than %d", len(text), MaxArguments)
	}
	return text, nil
}

// read reads one value. json.Unmarshal would take the last of two members of the same name.
func read(from *json.Decoder, depth int) (any, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	begin, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case depth == maxDepth:
		return nil, fmt.Errorf("they are nested more than %d levels deep", maxDepth)
	case begin == '{':
		return readObject(from, depth)
	default:
		return readList(from, depth)
	}
}

func readObject(from *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for from.More() {
		token, err := from.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder accepts only texts as names
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the member %.40q appears twice", name)
		}
		if object[name], err = read(from, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := from.Token()
	return object, err
}

func readList(from *json.Decoder, depth int) (any, error) {
	list := []any{}
	for from.More() {
		element, err := read(from, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := from.Token()
	return list, err
}

// Call is a call of a tool that an agent asks about. Arguments are canonical.
type Call struct {
	Tool      string
	Arguments []byte
}

// Binding names the run and the policy to which a digest binds a call.
type Binding struct {
	Run    string // the key of the run, with its attempt
	Policy string // Policy.Version, and whether the run's approvals were revoked since
}

// Digest returns the digest of the call for this run under this policy.
func (c Call) Digest(to Binding) string {
	sum := sha256.New()
	for _, part := range []string{"torno approval 1", c.Tool, string(c.Arguments), to.Policy, to.Run} {
		fmt.Fprintf(sum, "%d:%s\n", len(part), part) // with its length in front, no part can pass for two
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// argument returns the member of this name, if it is a text.
func (c Call) argument(name string) (string, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &members) != nil {
		return "", false
	}
	var text string
	err := json.Unmarshal(members[name], &text)
	return text, err == nil
}

// shell and writing list the tools that have rates of their own.
var (
	shell   = []string{"Bash", "BashOutput", "PowerShell", "command_execution"}
	writing = []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "file_change"}
)

// A rule with Exact or Words reads the argument commandOf, and a rule with Under reads pathOf, unless the rule names
// another.
const (
	commandOf = "command"
	pathOf    = "file_path"
)

func isShell(tool string) bool { return slices.Contains(shell, tool) }

func writes(tool string) bool { return slices.Contains(writing, tool) }

// isPlain reports whether a command is nothing but words: no quotes, no expansion, no second command, no redirection.
func isPlain(command string) bool {
	return command != "" && !strings.ContainsFunc(command, func(c rune) bool {
		return c < ' ' || c == 0x7f || c > 0x7e || strings.ContainsRune("\"'`$&|;<>(){}[]*?!~#\\\n", c)
	})
}
