package adapter

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"torno/internal/agent"
)

// loose is a value that stays zero if the JSON has another type.
type loose[T any] struct{ v T }

func (l *loose[T]) UnmarshalJSON(data []byte) error {
	var v T
	if json.Unmarshal(data, &v) == nil {
		l.v = v
	}
	return nil
}

// maxElements bounds how many elements of a list are taken: an element can be as short as two bytes, but costs a
// hundred when it is decoded.
const maxElements = 1000

// list takes the elements of a list that have its type, up to maxElements. more says that the list goes on.
type list[T any] struct {
	v    []T
	more bool
}

func (l *list[T]) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if begin, _ := decoder.Token(); begin != json.Delim('[') { // data is a whole JSON value, so nothing can fail
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

// part is a part of a tool's result.
type part struct {
	Type loose[string] `json:"type"`
	Text loose[string] `json:"text"`
}

// content is a tool's result: a text, or a list of parts.
type content struct{ text string }

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	var parts list[part]
	_ = json.Unmarshal(data, &parts) // list takes any JSON value
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

// count is a number of tokens as an agent reports it.
type count = loose[float64]

// mostTokens is the largest number that every JSON decoder reads exactly.
const mostTokens = 1 << 53

// sum adds up numbers of tokens. A negative number counts as zero.
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
