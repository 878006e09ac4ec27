package units

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// verdict lets a story fail without the test that tells it. What goes wrong after the story is the test's own again.
type verdict struct {
	testing.TB
	mu   sync.Mutex
	said []string
	told bool
}

// judge tells a story that may fail, and returns what it said then: "" is a story that went well.
func judge(t testing.TB, story func(testing.TB)) string {
	t.Helper()
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		story(v)
	}()
	<-done
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = true
	return strings.Join(v.said, "\n")
}

func (v *verdict) Errorf(format string, args ...any) {
	v.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.told {
		v.TB.Errorf(format, args...)
		return
	}
	v.said = append(v.said, fmt.Sprintf(format, args...))
}

func (v *verdict) Error(args ...any) { v.Helper(); v.Errorf("%s", fmt.Sprintln(args...)) }

func (v *verdict) Fatalf(format string, args ...any) {
	v.Helper()
	v.Errorf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatal(args ...any) { v.Helper(); v.Fatalf("%s", fmt.Sprintln(args...)) }
