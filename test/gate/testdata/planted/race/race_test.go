package race

import (
	"testing"

	"planted"
)

func TestRacesOnce(t *testing.T) {
	if !planted.First(t) {
		return
	}
	n, done := 0, make(chan struct{})
	go func() { n++; close(done) }()
	n++
	<-done
}
