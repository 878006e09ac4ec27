package flaky

import (
	"testing"

	"planted"
)

func TestOnceRed(t *testing.T) {
	if planted.First(t) {
		t.Error("red, and not a second time")
	}
}

func TestGreen(t *testing.T) {}
