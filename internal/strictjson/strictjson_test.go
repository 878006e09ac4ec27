package strictjson_test

import (
	"encoding/json"
	"errors"
	"testing"

	"torno/internal/strictjson"
)

func TestDecode(t *testing.T) {
	type point struct {
		X int `json:"x"`
	}
	var wrong *json.UnmarshalTypeError
	for text, is := range map[string]func(error) bool{
		`{"x":1}`:                func(err error) bool { return err == nil },
		" {\"x\":1}\n":           func(err error) bool { return err == nil },
		`{"x":1,"y":2}`:          func(err error) bool { return err != nil },
		`{"x":1} {}`:             func(err error) bool { return errors.Is(err, strictjson.ErrTrailing) },
		`{"x":1}}`:               func(err error) bool { return errors.Is(err, strictjson.ErrTrailing) },
		`{"x":"1"}`:              func(err error) bool { return errors.As(err, &wrong) },
		"{\"x\":1, \"\xff\": 1}": func(err error) bool { return errors.Is(err, strictjson.ErrNotUTF8) },
		`{"x":1`:                 func(err error) bool { return err != nil },
		``:                       func(err error) bool { return err != nil },
	} {
		var p point
		if err := strictjson.Decode([]byte(text), &p); !is(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
