package approval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestOneForm: what means the same has one form, and what does not has another.
func TestOneForm(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":"x"}`:                  `{"a":"x","b":1}`,
		" { \"a\" : [ 1 , true , null ] }": `{"a":[1,true,null]}`,
		`{"a":"\u0041<&>\/"}`:              `{"a":"A<&>/"}`,
		`{"a":1.0}`:                        `{"a":1.0}`,
		`{"a":{"d":{},"c":[]}}`:            `{"a":{"c":[],"d":{}}}`,
		`{}`:                               `{}`,
	} {
		if got, err := Canonical([]byte(text)); string(got) != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// TestRefusedArguments: two readers could read them in two ways, or they are no arguments.
func TestRefusedArguments(t *testing.T) {
	for name, text := range map[string]string{
		"a member twice": `{"command":"ls","command":"rm -rf ."}`, "twice by another spelling": `{"a":1,"\u0061":2}`, "twice within": `{"x":[{"a":1,"a":1}]}`,
		"nothing": "", "null": "null", "a list": "[]", "a text": `"a"`, "two values": "{}{}", "not UTF-8": "{\"a\":\"\xff\"}", "cut": `{"a":`,
		"too deep": `{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + "}", "too long": `{"a":"` + strings.Repeat("x", MaxArguments) + `"}`,
		"very deep": `{"a":` + strings.Repeat("[", 100_000),
	} {
		if got, err := Canonical([]byte(text)); err == nil {
			t.Errorf("%s: %.100s", name, got)
		}
	}
}

// TestADigestBindsEverything: each part changes it, and no part can pass for its neighbour.
func TestADigestBindsEverything(t *testing.T) {
	seen := map[string]string{}
	for name, d := range map[string]string{
		"the call":        Call{"Bash", []byte(`{"a":1}`)}.Digest(Binding{"run", "policy"}),
		"other arguments": Call{"Bash", []byte(`{"a":2}`)}.Digest(Binding{"run", "policy"}),
		"another tool":    Call{"Read", []byte(`{"a":1}`)}.Digest(Binding{"run", "policy"}),
		"another run":     Call{"Bash", []byte(`{"a":1}`)}.Digest(Binding{"run2", "policy"}),
		"another policy":  Call{"Bash", []byte(`{"a":1}`)}.Digest(Binding{"run", "policy2"}),
		"parts moved":     Call{"Bash{", []byte(`"a":1}`)}.Digest(Binding{"run", "policy"}),
		"lines moved":     Call{"Bash\n7:{", []byte(`"a":1}`)}.Digest(Binding{"run", "policy"}),
	} {
		if other, twice := seen[d]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
}

// FuzzCanonical: the form is its own form, means what was said, and is taken by a reader that knows nothing of it.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":1,"a":"x\u2028<"}`, `{"a":1e400,"b":[{"c":-0.0}]}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"":{}}`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := Canonical(text)
		if err != nil {
			return
		}
		if again, err := Canonical(first); string(again) != string(first) || err != nil {
			t.Fatalf("%s became %s, %v", first, again, err)
		}
		if !reflect.DeepEqual(meaning(t, text), meaning(t, first)) {
			t.Fatalf("%s does not mean %s", first, text)
		}
		if preview, _ := (Call{Arguments: first}).Preview(); !strings.HasPrefix(string(first), preview) || len(preview) > maxPreview {
			t.Fatalf("%s is no beginning of %s", preview, first)
		}
	})
}

func meaning(t *testing.T, text []byte) (value any) {
	t.Helper()
	from := json.NewDecoder(strings.NewReader(string(text)))
	from.UseNumber()
	if err := from.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
