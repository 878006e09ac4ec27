package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/internal/strictjson"
)

const (
	maxCall = 20 * time.Second // the longest time of a call
	maxWork = 19 * time.Second // the tool's part of it
)

// tool is one row of a set.
type tool struct {
	name, title string
	about       string        // clients show a model only the first sentence until it asks for more
	input       string        // a JSON Schema
	reads       bool          // it changes nothing
	ends        bool          // it ends something or overwrites something
	repeats     bool          // a second call changes nothing more
	takes       time.Duration // how long a call may take; 0 means maxWork
	waits       bool          // its call ends with a child, however long that takes
	feature     string        // the watcher must offer this feature; "" means none
	call        func(context.Context, *Server, json.RawMessage) (answer, error)
}

// answer is the answer of a tool. The value itself becomes the structured content. say returns the text for clients
// that read only text.
type answer interface{ say() string }

// does turns a function of parsed arguments into a tool's call.
func does[In any](f func(context.Context, *Server, In) (answer, error)) func(context.Context, *Server, json.RawMessage) (answer, error) {
	return func(ctx context.Context, s *Server, raw json.RawMessage) (answer, error) {
		in, err := parse[In](raw)
		if err != nil {
			return nil, err
		}
		return f(ctx, s, in)
	}
}

// parse reads arguments strictly: an unknown argument is a mistake, and the model should hear of it.
func parse[In any](raw json.RawMessage) (in In, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	err = strictjson.Decode(raw, &in)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return in, nil
	case errors.Is(err, strictjson.ErrTrailing):
		return in, badArgument("", "there is more text after the arguments")
	case ok && wrong.Field == "":
		return in, badArgument("", "the arguments must be an object, not %s", article(wrong.Value))
	case ok:
		return in, badArgument(wrong.Field, "%s must be %s, not %s", wrong.Field, goType(wrong.Type.String()), article(wrong.Value))
	}
	return in, badArgument("", "%s", strings.Replace(strings.TrimPrefix(err.Error(), "json: "), "unknown field", "there is no argument", 1))
}

// goType describes the Go type of an argument in words for a model.
func goType(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case name == "string":
		return "a text"
	case name == "bool":
		return "true or false"
	case strings.Contains(name, "int"):
		return "a whole number"
	case strings.Contains(name, "float"):
		return "a number"
	}
	return "an object"
}

func article(value string) string {
	kind, which, _ := strings.Cut(value, " ")
	switch kind {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "number":
		if which == "" {
			return "a number"
		}
		return "the number " + which
	case "bool":
		return "true or false"
	}
	return words(value)
}

// run carries out a call and turns its answer or error into the client's result.
func (t *tool) run(ctx context.Context, s *Server, raw json.RawMessage) *sdk.CallToolResult {
	if !t.waits {
		limited, cancel := context.WithTimeoutCause(ctx, cmp.Or(t.takes, maxWork), errTooLong)
		defer cancel()
		ctx = limited
	}
	err := s.wantFeature(t)
	var a answer
	if err == nil {
		a, err = t.call(ctx, s, raw)
	}
	if err != nil {
		return s.trouble(err).result()
	}
	if page, ok := a.(*Page); ok {
		return page.result()
	}
	return &sdk.CallToolResult{StructuredContent: a, Content: []sdk.Content{&sdk.TextContent{Text: a.say()}}}
}

// describe returns the tool as clients list it.
func (t *tool) describe() *sdk.Tool {
	open := true // children reach a model, and everything else that the operator allows
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: strings.TrimSpace(t.about), InputSchema: json.RawMessage(t.input),
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.reads, DestructiveHint: &t.ends, IdempotentHint: t.repeats || t.reads, OpenWorldHint: &open,
		},
	}
}
