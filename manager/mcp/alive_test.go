package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAClientHearsOfALongCall every 15 seconds, until its end and no longer.
func TestAClientHearsOfALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []float64
		c := caller{progress: func(_ context.Context, done float64) error {
			heard = append(heard, done)
			return nil
		}}
		quiet := (&Server{}).keepAlive(context.WithValue(t.Context(), callerKey{}, c))
		time.Sleep(50 * time.Second)
		quiet()
		time.Sleep(50 * time.Second)
		if len(heard) != 3 || heard[2] != 3 {
			t.Errorf("it heard %v", heard)
		}
	})
}

// TestAClientThatWantsNoProgressHearsNone, as one that gave no token.
func TestAClientThatWantsNoProgressHearsNone(t *testing.T) {
	(&Server{}).keepAlive(context.WithValue(t.Context(), callerKey{}, caller{}))()
}
