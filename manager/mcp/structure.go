package mcp

import (
	"bytes"
	"encoding/json"
)

// Stranger is a stranger's quoted text as a field of a structure. Only a page makes a Stranger that is not empty.
type Stranger = foreign

// Stranger quotes a stranger's text for a structure. It returns how many bytes of the text found room.
func (p *Page) Stranger(text string, limit int) (Stranger, int) {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	return quoted, used
}

// JSON makes a structure the first part of the answer, like Object, but with another note: it says that strangers speak
// in field.
func (p *Page) JSON(v any, field string) error {
	p.field = field
	_, err := p.Object(v)
	return err
}

// StrangerJSON quotes all texts in a stranger's JSON, including the names of fields. It returns false if the JSON is
// malformed or finds no room.
func (p *Page) StrangerJSON(raw json.RawMessage) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	value = quoteTexts(value)
	text, err := json.Marshal(value)
	if err != nil || len(text) > p.room {
		return nil, false
	}
	p.room -= len(text)
	p.strange = true
	return value, true
}

func quoteTexts(value any) any {
	switch value := value.(type) {
	case string:
		quoted, _ := quote([]byte(value), maxLine)
		return quoted
	case []any:
		for i := range value {
			value[i] = quoteTexts(value[i])
		}
	case map[string]any:
		quoted := make(map[foreign]any, len(value))
		for name, each := range value {
			key, _ := quote([]byte(name), maxLine)
			quoted[key] = quoteTexts(each)
		}
		return quoted
	}
	return value
}
