package many

import (
	"fmt"
	"testing"

	"planted"
)

func TestA(t *testing.T) { once(t) }
func TestB(t *testing.T) { once(t) }
func TestC(t *testing.T) { once(t) }
func TestD(t *testing.T) { once(t) }

func once(t *testing.T) {
	if planted.First(t) {
		t.Error(fmt.Sprint("one of four"))
	}
}
