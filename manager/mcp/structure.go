package mcp

import (
	"bytes"
	"encoding/json"
)

// Stranger is a stranger's text as a field of a structure has it, where it is quoted. Only a page makes one that is not empty.
type Stranger = foreign

// Stranger quotes a stranger's text for a structure, and returns how many bytes of it found room.
func (p *Page) Stranger(text string, limit int) (Stranger, int) {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	return quoted, used
}

// JSON is Object with a note of its own: the field is where in it strangers speak.
func (p *Page) JSON(v any, field string) error {
	p.field = field
	_, err := p.Object(v)
	return err
}

// StrangerJSON quotes all texts of a stranger's JSON, the names of its fields too. It is false where that does not find room.
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
