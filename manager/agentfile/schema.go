package agentfile

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"torno/manager/answerschema"
)

// schema reads a JSON Schema that is written in YAML.
func (r *reading) schema(at string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.refuse(n, at, "must be a JSON Schema, such as {type: object}")
		return
	}
	value, err := asJSON(n)
	if err != nil {
		r.refuse(n, at, "%v", err)
		return
	}
	document, _ := value.(map[string]any)
	schema, err := answerschema.Compile(document)
	if err != nil {
		r.refuse(n, at, "%v", err)
		return
	}
	r.agent.OutputSchema = schema
}

// asJSON returns the value that JSON would have. A date becomes a text.
func asJSON(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := asJSON(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			object[n.Content[i].Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			value, err := asJSON(item)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return scalar(n)
}

func scalar(n *yaml.Node) (any, error) {
	if tag := n.ShortTag(); tag == "!!str" || tag == "!!timestamp" {
		return n.Value, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, fmt.Errorf("has a value at line %d that is not JSON: %w", n.Line, err)
	}
	if f, ok := value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("has a number at line %d that is not JSON", n.Line)
	}
	return value, nil
}
