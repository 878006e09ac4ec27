//go:build linux

package initproc

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestAHoldEnds where no word comes, also while the other end of the input stays open.
func TestAHoldEnds(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fd := int(in.Fd())
	if err := awaitInputOf(fd, time.Millisecond); !errors.Is(err, errAbandoned) {
		t.Errorf("no word: %v", err)
	}
	if _, err := out.WriteString("word"); err != nil {
		t.Fatal(err)
	}
	if err := awaitInputOf(fd, time.Hour); err != nil {
		t.Errorf("a word: %v", err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := awaitInputOf(fd, time.Hour); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
}
