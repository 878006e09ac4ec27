package adapter

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"torno/internal/agent"
)

// loose is a value that is zero where JSON has another type.
type loose[T any] struct{ v T }

func (l *loose[T]) UnmarshalJSON(data []byte) error {
	var v T
	if json.Unmarshal(data, &v) == nil {
		l.v = v
	}
	return nil
}

// maxElements bounds what is taken of a list: an element can be as short as two bytes, and costs a hundred when it is decoded.
const maxElements = 1000

// list has the elements of a list that are of its type, up to maxElements; more says that there are others.
type list[T any] struct {
	v    []T
	more bool
}

func (l *list[T]) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if begin, _ := decoder.Token(); begin != json.Delim('[') { // it is a whole value, so nothing can fail
		return nil
	}
	for decoder.More() {
		if len(l.v) == maxElements {
			l.more = true
			return nil
		}
		var element T
		if decoder.Decode(&element) == nil {
			l.v = append(l.v, element)
		}
	}
	return nil
}

// part is a part of what a tool gave back.
type part struct {
	Type loose[string] `json:"type"`
	Text loose[string] `json:"text"`
}

// content is what a tool gave back: a text, or a list of parts.
type content struct{ text string }

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	var parts list[part]
	_ = json.Unmarshal(data, &parts) // it is a value, and takes each
	var texts []string
	for _, p := range parts.v {
		switch {
		case p.Type.v == "text":
			texts = append(texts, p.Text.v)
		case p.Type.v != "":
			texts = append(texts, "["+p.Type.v+"]")
		}
	}
	if parts.more {
		texts = append(texts, "[…]")
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

// count is a number of tokens as an agent says it.
type count = loose[float64]

// mostTokens is what every decoder of JSON reads exactly.
const mostTokens = 1 << 53

// sum adds up numbers of tokens. What cannot be one counts as none.
func sum(counts ...count) int64 {
	total := 0.0
	for _, c := range counts {
		if c.v > 0 {
			total += c.v
		}
	}
	return int64(math.Min(total, mostTokens))
}

func usage(t agent.Tokens) []agent.Line { return tell(agent.Line{Kind: agent.Usage, Tokens: &t}) }
