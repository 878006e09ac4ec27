package panics

import (
	"testing"

	"planted"
)

func TestPanicsOnce(t *testing.T) {
	if planted.First(t) {
		panic("planted")
	}
}
