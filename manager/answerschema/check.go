package answerschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxAnswer = 256 << 10
	// maxWork bounds the product of the answer's bytes and the schema's weight.
	maxWork  = 16 << 20
	maxShown = 1 << 10
)

// Reason says why an answer does not match its schema.
type Reason string

// The reasons, as programs see them.
const (
	NotJSON      Reason = "not_json"
	DoesNotMatch Reason = "does_not_match"
	TooLarge     Reason = "too_large"
)

// Mismatch is the error for an answer that does not match its schema. Its JSON form goes to the caller. Detail can
// repeat words of the child: quote it before a model sees it.
type Mismatch struct {
	Code   string `json:"error"` // always "output_schema"
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`

	schema []byte
}

func (m *Mismatch) Error() string {
	return "the answer is not what output_schema asks for: " + m.Detail
}

// Feedback returns the words that the child gets for its second try.
func (m *Mismatch) Feedback() string {
	return fmt.Sprintf("Your answer is not what was asked for: %s\n\nAnswer again. %s", m.Detail, asking(m.schema))
}

// Asking returns the words that tell a child what its answer must look like.
func (s *Schema) Asking() string { return asking(s.text) }

func asking(schema []byte) string {
	return fmt.Sprintf("The whole answer must be one JSON value that matches this JSON Schema, without any words around it:\n%s\n", schema)
}

// Check reads an answer, either bare JSON or JSON in one Markdown fence, and returns the JSON if it matches.
func (s *Schema) Check(answer string) (json.RawMessage, *Mismatch) {
	text := unfenced(answer)
	if len(text) > maxAnswer || len(text)*s.weight > maxWork {
		most := min(maxAnswer, maxWork/s.weight)
		return nil, s.mismatch(TooLarge, fmt.Sprintf("it has %d bytes, and at most %d can be checked against this schema", len(text), most))
	}
	var instance any
	if err := json.Unmarshal([]byte(text), &instance); err != nil {
		return nil, s.mismatch(NotJSON, "it is not one JSON value: "+err.Error())
	}
	if err := s.resolved.Validate(instance); err != nil {
		return nil, s.mismatch(DoesNotMatch, err.Error())
	}
	value, err := canonical(text)
	if err != nil {
		return nil, s.mismatch(NotJSON, err.Error())
	}
	return value, nil
}

func (s *Schema) mismatch(reason Reason, detail string) *Mismatch {
	return &Mismatch{Code: "output_schema", Reason: reason, Detail: short(detail), schema: s.text}
}

// canonical decodes a text and encodes it again. Its numbers keep their digits.
func canonical(text string) (json.RawMessage, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is more than one JSON value")
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// unfenced returns a text without the fence that models like to put around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	language, inner, _ := strings.Cut(inner, "\n")
	inner, ended := strings.CutSuffix(inner, "```")
	if language = strings.TrimSpace(language); !ended || language != "" && !strings.EqualFold(language, "json") {
		return text
	}
	return strings.TrimSpace(inner)
}

// short cuts a text that an error message repeats.
func short(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
