package hungfs

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// How a test and its server speak: by the environment, and then in lines.
const (
	serveVariable = "TORNO_HUNGFS"
	dirsVariable  = "TORNO_HUNGFS_DIRS"
	saysServing   = "serving\n"
	saysHangs     = "hangs\n"
	saysWaits     = "waits\n"
	tellHang      = "hang\n"
)

// init is the server's whole life, in a test's program that was started for that.
func init() {
	dir := os.Getenv(serveVariable)
	if dir == "" {
		return
	}
	if err := serve(dir, strings.Split(os.Getenv(dirsVariable), "/")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// server answers the kernel.
type server struct {
	dirs   []string
	device int
	hangs  atomic.Bool
}

// serve mounts the file system at dir, and unmounts it when the standard input ends. The end of this process is what lets
// the kernel end the calls that wait.
func serve(dir string, dirs []string) error {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device)
	if err := unix.Mount("hungfs", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	s := &server{dirs: dirs, device: device}
	go s.answerAll()
	fmt.Print(saysServing)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return unix.Unmount(dir, unix.MNT_DETACH)
		}
		if line == tellHang {
			s.hangs.Store(true)
			fmt.Print(saysHangs)
		}
	}
}

func (s *server) answerAll() {
	buf := make([]byte, 1<<17)
	for {
		n, err := unix.Read(s.device, buf)
		if err == unix.ENODEV {
			return // unmounted
		}
		if err != nil {
			continue // interrupted, or the kernel took a request back
		}
		req, ok := parse(buf[:n])
		switch {
		case !ok, req.op == opForget, req.op == opBatchForget, req.op == opInterrupt:
		case s.hangs.Load():
			fmt.Print(saysWaits)
		default:
			_, _ = unix.Write(s.device, s.answer(req)) // it fails when the caller does not wait any more
		}
	}
}
