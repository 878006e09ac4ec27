package inside

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Bomb forks, and so does every process that comes of it, for as long as somebody lets them.
func Bomb() {
	for {
		_, _, errno := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
		if errno != 0 {
			syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

// Beat starts a program again and again until it has done so often enough, and says how long one start took.
func Beat(each func(Beats)) {
	var took []time.Duration
	for {
		begin := time.Now()
		if err := exec.Command("/proc/self/exe", "nothing").Run(); err != nil {
			each(Beats{Failed: err.Error()})
			return
		}
		took = append(took, time.Since(begin))
		if len(took) == 10 {
			slices.Sort(took)
			each(Beats{Median: took[5], Worst: took[9]})
			took = nil
		}
	}
}

func (b Beats) String() string {
	return fmt.Sprintf("median %s, worst %s", b.Median.Round(time.Millisecond), b.Worst.Round(time.Millisecond))
}
