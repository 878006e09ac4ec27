package massgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxYAML bounds the file. A request of a few megabytes can be nested so deeply that its indented form is a hundred
// times as long.
const maxYAML = 8 << 20

var errYAMLTooBig = fmt.Errorf("as YAML it is over %d MiB", maxYAML>>20)

// Encode writes a decoded JSON object as YAML. Readers of YAML 1.1 and of YAML 1.2 read the same values from it.
func Encode(config map[string]any) ([]byte, error) {
	var out cappedBuffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(yamlNode(config)); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// yamlNode decides which words are texts and which digits are numbers. If the encoder decided, it would depend on the
// YAML dialect of the reader.
func yamlNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			node.Content = append(node.Content, textNode(key), yamlNode(value[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, inner := range value {
			node.Content = append(node.Content, yamlNode(inner))
		}
		return node
	case string:
		return textNode(value)
	case json.Number:
		return numberNode(value.String())
	case int64:
		return numberNode(strconv.FormatInt(value, 10))
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return numberNode(strconv.FormatInt(int64(value), 10))
		}
		return numberNode(strconv.FormatFloat(value, 'g', -1, 64))
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	default:
		panic(fmt.Sprintf("massgen: a %T is nothing that a request can hold", value))
	}
}

// plainText matches texts that need no quotes in any dialect, except the words in notPlain.
var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.-]*$`)

var notPlain = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if !plainText.MatchString(text) || slices.Contains(notPlain, strings.ToLower(text)) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// numberNode keeps the digits of a JSON number. It adds the point and the sign. Without them YAML 1.1 reads "1e21" as a
// text.
func numberNode(text string) *yaml.Node {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if !scientific && !strings.Contains(text, ".") {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if scientific {
		if exponent[0] != '-' && exponent[0] != '+' {
			exponent = "+" + exponent
		}
		mantissa += "e" + exponent
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: mantissa}
}

// cappedBuffer stops the encoder when the output exceeds maxYAML.
type cappedBuffer struct{ bytes.Buffer }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxYAML {
		return 0, errYAMLTooBig
	}
	return b.Buffer.Write(p)
}
