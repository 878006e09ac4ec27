//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	where, countdown = parse(os.Getenv("TORNO_CRASH"))
	passed           atomic.Int64
)

// parse takes "point" or "point:n" apart.
func parse(text string) (point string, n int64) {
	point, number, given := strings.Cut(text, ":")
	if !given {
		return point, 1
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		panic("TORNO_CRASH is no point: " + text)
	}
	return point, n
}

// At is a point at which a test can have the program die.
func At(point string) {
	if point != where || passed.Add(1) != countdown {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // nothing happens any more while the kernel is at it
}
