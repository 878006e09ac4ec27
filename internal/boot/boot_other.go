//go:build !linux

package boot

import "time"

// Sandboxes run only on Linux. On other systems operators only look at journals.

var begin = time.Now()

func bootID() string { return "" }

// Up returns the time since this process began.
func Up() time.Duration { return time.Since(begin) }
