package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxMembers  = 256
	maxElements = 1 << 16
)

// object is a JSON object with parsed keys. The values stay unparsed in the text.
type object struct {
	text    []byte
	members []member
}

// member is one key and its value, as offsets into the text.
type member struct {
	key        string
	folded     string
	keyAt      int // offset of the quote that begins the key
	begin, end int // offsets of the value
}

// parseDocument reads a whole body, which has to be one object in UTF-8 and nothing else.
func parseDocument(body []byte) (object, error) {
	switch {
	case !utf8.Valid(body):
		return object{}, errors.New("the body is not UTF-8")
	case !json.Valid(body):
		return object{}, errors.New("the body is not one JSON value")
	}
	return parseObject(body)
}

// parseObject reads one level of valid JSON. It refuses keys that two readers may understand in two ways: a key that is
// there twice, also in another spelling (max_tokens, maxTokens), an escaped key, and a key that is not ASCII.
func parseObject(text []byte) (object, error) {
	o := object{text: text}
	i := space(text, 0)
	if i >= len(text) || text[i] != '{' {
		return object{}, errors.New("there is no JSON object where one is expected")
	}
	var seen filter
	for i = space(text, i+1); text[i] != '}'; i = space(text, i) {
		if text[i] == ',' {
			i = space(text, i+1)
		}
		m := member{keyAt: i}
		i = skip(text, i)
		m.key = string(text[m.keyAt+1 : i-1])
		if strings.ContainsFunc(m.key, func(c rune) bool { return c == '\\' || c >= utf8.RuneSelf }) {
			return object{}, fmt.Errorf("the key %s is escaped or not ASCII", short(m.key))
		}
		m.folded = fold(m.key)
		if len(o.members) == maxMembers || seen.mayHave(m.folded) && o.find(m.folded) != nil {
			return object{}, fmt.Errorf("the key %s appears twice, or there are too many keys", short(m.key))
		}
		m.begin = space(text, space(text, i)+1) // after the colon
		m.end = skip(text, m.begin)
		o.members, i = append(o.members, m), m.end
	}
	return o, nil
}

// filter is a small Bloom filter, so that most new keys need no comparison with all earlier ones. Without it, a body of
// objects with 250 keys each would take seconds.
type filter [16]uint64

// mayHave reports whether the key may have been there already, and adds it.
func (f *filter) mayHave(key string) bool {
	sum := uint32(2166136261) // FNV-1a
	for i := range len(key) {
		sum = (sum ^ uint32(key[i])) * 16777619
	}
	place, bit := sum>>6%uint32(len(f)), uint64(1)<<(sum&63)
	was := f[place]&bit != 0
	f[place] |= bit
	return was
}

// fold returns the same text for all spellings of a key that an upstream may take for the same key.
func fold(key string) string {
	changes := func(c rune) bool { return c == '_' || c == '-' || 'A' <= c && c <= 'Z' }
	if !strings.ContainsFunc(key, changes) {
		return key
	}
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return unicode.ToLower(c)
	}, key)
}

// foldAll folds the words of each API.
func foldAll(words map[API][]string) map[API][]string {
	all := map[API][]string{}
	for api, list := range words {
		for _, word := range list {
			all[api] = append(all[api], fold(word))
		}
	}
	return all
}

// get returns the value of a key, or nil if it is absent or null.
func (o object) get(key string) []byte {
	if m := o.find(key); m != nil && !bytes.Equal(o.text[m.begin:m.end], []byte("null")) {
		return o.text[m.begin:m.end]
	}
	return nil
}

func (o object) find(key string) *member {
	key = fold(key)
	for i := range o.members {
		if o.members[i].folded == key {
			return &o.members[i]
		}
	}
	return nil
}

// spelled returns an error if the object has one of these keys in another spelling. We would rely on its value, but an
// upstream that knows only the real key would ignore it.
func (o object) spelled(keys ...string) error {
	m := o.find(keys[0])
	if m == nil || slices.Contains(keys, m.key) {
		return nil
	}
	return fmt.Errorf("the key %s must be spelled %s", short(m.key), keys[0])
}

// getString returns the text of a key; "" if it is absent.
func (o object) getString(key string) (string, error) {
	raw := o.get(key)
	if raw == nil {
		return "", nil
	}
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%s is not a text", short(key))
	}
	return text, nil
}

func (o object) getBool(key string) (bool, error) {
	switch raw := o.get(key); string(raw) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", short(key))
}

// getCount returns the number of a key: digits only, no sign, no fraction. It returns 0 if the key is absent.
func (o object) getCount(key string) (int64, error) {
	raw := o.get(key)
	if raw == nil {
		return 0, nil
	}
	var n int64
	if len(raw) > 12 || raw[0] == '-' || json.Unmarshal(raw, &n) != nil {
		return 0, fmt.Errorf("%s is not a count", short(key))
	}
	return n, nil
}

// getObject returns the object of a key, or an object without members if the key is absent.
func (o object) getObject(key string) (object, error) {
	raw := o.get(key)
	if raw == nil {
		return object{}, nil
	}
	inner, err := parseObject(raw)
	if err != nil {
		return object{}, fmt.Errorf("%s: %w", short(key), err)
	}
	return inner, nil
}

// elements returns the values of a JSON array. The text has to be valid JSON. Other JSON has no elements.
func elements(text []byte) ([][]byte, error) {
	i := space(text, 0)
	if i >= len(text) || text[i] != '[' {
		return nil, nil
	}
	var all [][]byte
	for i = space(text, i+1); text[i] != ']'; i = space(text, i) {
		if text[i] == ',' {
			i = space(text, i+1)
		}
		begin := i
		i = skip(text, i)
		if len(all) == maxElements {
			return nil, errors.New("a list has too many elements")
		}
		all = append(all, text[begin:i])
	}
	return all, nil
}

// skip returns the offset after the value that begins at i. The text has to be valid JSON.
func skip(text []byte, i int) int {
	if text[i] == '"' {
		return skipString(text, i+1)
	}
	if text[i] != '{' && text[i] != '[' {
		for i < len(text) && strings.IndexByte(",]} \t\r\n:", text[i]) < 0 {
			i++
		}
		return i
	}
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			i = skip(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// skipString returns the offset after the quote that ends a text: the first quote with an even number of backslashes
// before it.
func skipString(text []byte, i int) int {
	for {
		end := i + bytes.IndexByte(text[i:], '"')
		escapes := 0
		for end-escapes > i && text[end-escapes-1] == '\\' {
			escapes++
		}
		i = end + 1
		if escapes%2 == 0 {
			return i
		}
	}
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}
