package answerschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSchema bounds the text of a schema, in bytes.
const maxSchema = 64 << 10

// dialects lists the dialects that the library validates.
var dialects = []any{
	nil, "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
}

// Schema is a JSON Schema that is safe to validate answers against. Several goroutines can use it at once.
type Schema struct {
	text     []byte
	weight   int
	resolved *jsonschema.Resolved
}

// Compile checks a schema. Its errors are for the author of the schema.
func Compile(document map[string]any) (*Schema, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("is larger than %d KiB", maxSchema>>10)
	}
	var copied map[string]any
	if err := json.Unmarshal(text, &copied); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if copied == nil {
		return nil, errors.New("is empty")
	}
	weight, err := weigh(copied)
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(copied)
	if err != nil {
		return nil, fmt.Errorf("is no JSON Schema: %s", short(err.Error()))
	}
	return &Schema{text: text, weight: weight, resolved: resolved}, nil
}

// resolve gives the schema to the library. It removes a top-level $id first, because references must lead to the
// schema's own parts.
func resolve(document map[string]any) (*jsonschema.Resolved, error) {
	if dialect := document["$schema"]; !slices.Contains(dialects, dialect) {
		return nil, fmt.Errorf("$schema is %v; leave it out, or use draft 2020-12 or draft-07", dialect)
	}
	delete(document, "$id")
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

// MarshalJSON returns the schema as its author wrote it.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }

// UnmarshalJSON compiles a schema.
func (s *Schema) UnmarshalJSON(text []byte) error {
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	compiled, err := Compile(document)
	if err != nil {
		return err
	}
	*s = *compiled
	return nil
}
