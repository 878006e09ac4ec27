//go:build !linux

package e2e

import (
	"testing"
	"time"
)

// bareRunsc is a `runsc run`, which there is on Linux only.
type bareRunsc struct{}

func newBareRunsc(*testing.B, string) *bareRunsc { return nil }

func (*bareRunsc) run(*testing.B) time.Duration     { return 0 }
func (*bareRunsc) bounded(*testing.B) time.Duration { return 0 }
