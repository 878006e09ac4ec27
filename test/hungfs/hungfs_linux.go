package hungfs

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// FS is a mounted file system. Its methods are safe for concurrent use.
type FS struct {
	dirs    []string
	device  *os.File
	hangs   atomic.Bool
	waits   chan struct{}
	waiting atomic.Int64
	abort   func()
}

// Files is how many files each directory has.
const Files = 3

// Mount mounts a file system at dir, which has these directories.
func Mount(t testing.TB, dir string, dirs ...string) *FS {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("there is no FUSE here:", err)
	}
	fs := &FS{dirs: dirs, waits: make(chan struct{}, 1)}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("hungfs", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		t.Skip("FUSE cannot be mounted here:", err)
	}
	fs.device = os.NewFile(uintptr(fd), "/dev/fuse") // only now: nobody can wait for a device that is not mounted
	var serving sync.WaitGroup
	serving.Go(fs.serve)
	fs.abort = sync.OnceFunc(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error("unmount:", err)
		}
		fs.device.Close() // the kernel ends every call that waits
		serving.Wait()
	})
	t.Cleanup(fs.Abort)
	return fs
}

// Hang stops all answers.
func (fs *FS) Hang() { fs.hangs.Store(true) }

// Waits gets an element when a call waits in vain.
func (fs *FS) Waits() <-chan struct{} { return fs.waits }

// Waiting is how many requests of the kernel were left without an answer.
func (fs *FS) Waiting() int64 { return fs.waiting.Load() }

// Abort unmounts the file system. Calls that wait fail.
func (fs *FS) Abort() { fs.abort() }

// serve answers the kernel until the device is closed.
func (fs *FS) serve() {
	buf := make([]byte, 1<<17)
	for {
		n, err := fs.device.Read(buf)
		if err != nil {
			return
		}
		req, ok := parse(buf[:n])
		switch {
		case !ok, req.op == opForget, req.op == opBatchForget, req.op == opInterrupt:
		case fs.hangs.Load():
			fs.waiting.Add(1)
			select {
			case fs.waits <- struct{}{}:
			default:
			}
		default:
			if _, err := fs.device.Write(fs.answer(req)); err != nil {
				continue // the caller was interrupted, and waits no more
			}
		}
	}
}
