package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxMembers  = 256
	maxElements = 1 << 16
)

// object is a JSON object of which the keys were understood, and the values lie where they lay.
type object struct {
	text    []byte
	members []member
}

// member is one key and its value, by their places in the text.
type member struct {
	key        string
	folded     string
	keyAt      int // the quote that begins the key
	begin, end int // the value
}

// parseDocument reads a whole body: one object, in UTF-8, and nothing else.
func parseDocument(body []byte) (object, error) {
	switch {
	case !utf8.Valid(body):
		return object{}, errors.New("the body is not UTF-8")
	case !json.Valid(body):
		return object{}, errors.New("the body is not one JSON value")
	}
	return parseObject(body)
}

// parseObject reads one level of JSON that is known to be valid. It refuses what two readers may read in two ways: a key that
// stands twice, also in another spelling (max_tokens, maxTokens), a key that is escaped, a key outside of ASCII.
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
			return object{}, fmt.Errorf("the key %s is there twice, or is one too many", short(m.key))
		}
		m.begin = space(text, space(text, i)+1) // after the colon
		m.end = skip(text, m.begin)
		o.members, i = append(o.members, m), m.end
	}
	return o, nil
}

// filter is a small Bloom filter: most new keys need no comparison with all earlier ones. Without it, a body of objects with 250 keys each
// would take seconds.
type filter [16]uint64

// mayHave says whether a key may have been there, and notes that it is.
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

// fold maps all spellings of a key that an upstream may take for the same key to one text.
func fold(key string) string {
	folded := true
	for i := range len(key) {
		folded = folded && key[i] != '_' && key[i] != '-' && (key[i] < 'A' || key[i] > 'Z')
	}
	if folded {
		return key
	}
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
}

// get is the value of a key, nil where it is absent or null.
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

// spelled is an error where a member is one of these keys in another spelling than any of them. We would count on what it says, and
// an upstream that knows the real key only would not heed it.
func (o object) spelled(keys ...string) error {
	m := o.find(keys[0])
	if m == nil || slices.Contains(keys, m.key) {
		return nil
	}
	return fmt.Errorf("the key %s is to be spelled %s", short(m.key), keys[0])
}

// getString is the value of a key that is a text; "" where it is absent.
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

// getCount is the value of a key that is a number of things: digits, no sign, no fraction. 0 where it is absent.
func (o object) getCount(key string) (int64, error) {
	raw := o.get(key)
	if raw == nil {
		return 0, nil
	}
	var n int64
	if len(raw) > 12 || raw[0] == '-' || json.Unmarshal(raw, &n) != nil {
		return 0, fmt.Errorf("%s is no number of things", short(key))
	}
	return n, nil
}

// getObject is the value of a key that is an object; without members where it is absent.
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

// elements are the values of a JSON array that is known to be valid. Other JSON has no elements.
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

// skip is the place after the value that begins at i, of JSON that is known to be valid.
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

// skipString is the place after the quote that ends a text: the first one with an even number of backslashes before it.
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
