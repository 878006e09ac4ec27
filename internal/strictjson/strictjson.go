// Package strictjson reads one JSON value into a struct, as a whole or not at all. It returns an error for a member
// that the struct does not have, and for anything after the value. So an addition by a newer or a hostile writer is
// never half understood.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// The errors of a text that encoding/json does not report.
var (
	ErrNotUTF8  = errors.New("is not UTF-8")
	ErrTrailing = errors.New("something follows the value")
)

// Decode fills into from a text. It returns one of the errors above or an error of encoding/json.
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
