// Package strictjson reads one JSON value into a struct, as a whole or not at all: a member that the struct does not have, or
// anything behind the value, is an error. What a newer or a hostile writer adds is never half understood.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// What is wrong with a text besides its JSON.
var (
	ErrNotUTF8  = errors.New("is not UTF-8")
	ErrTrailing = errors.New("something follows the value")
)

// Decode fills into from a text. Its errors are these and those of encoding/json.
func Decode(text []byte, into any) error {
	if !utf8.Valid(text) {
		return ErrNotUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return ErrTrailing
	}
	return nil
}
