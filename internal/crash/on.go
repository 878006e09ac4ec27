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

// parse splits "point" or "point:n" into its parts.
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

// At kills the program if TORNO_CRASH names this point and the program has reached it often enough.
func At(point string) {
	if point != where || passed.Add(1) != countdown {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // do nothing more until the kernel has killed us
}
