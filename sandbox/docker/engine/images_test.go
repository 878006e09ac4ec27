package engine

import (
	"io"
	"strings"
	"testing"
)

func TestProgressOfThePull(t *testing.T) {
	for text, fails := range map[string]bool{
		"":                       false,
		`{"status":"a"}{"x":1}`:  false,
		`{"error":"no space\n"}`: true,
		`{"status"`:              true,
	} {
		if err := drain(io.NopCloser(strings.NewReader(text))); (err != nil) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
}
