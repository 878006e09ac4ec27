package leftover

import (
	"fmt"
	"os"
	"testing"

	"planted"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code != 0 {
		fmt.Println("an engine was left over")
	}
	os.Exit(code)
}

func TestOnceRed(t *testing.T) {
	if planted.First(t) {
		t.Error("red, and not a second time")
	}
}
