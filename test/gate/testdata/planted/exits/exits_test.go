package exits

import (
	"os"
	"testing"

	"planted"
)

func TestExitsOnce(t *testing.T) {
	if planted.First(t) {
		os.Exit(1)
	}
}

func TestBehindIt(t *testing.T) {}
