package timeout

import (
	"testing"

	"planted"
)

func TestHangsOnce(t *testing.T) {
	if planted.First(t) {
		select {}
	}
}
