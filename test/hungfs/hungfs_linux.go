package hungfs

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"torno/test/missing"
	"torno/test/tied"
)

// FS is a mounted file system. Its methods are safe for concurrent use.
type FS struct {
	t     testing.TB
	to    io.WriteCloser // the server's standard input
	hangs chan struct{}  // closed when it does, or is gone
	waits chan struct{}
	abort func()
}

// Files is how many files each directory has.
const Files = 3

// Mount mounts a file system at dir, which has these directories.
func Mount(t testing.TB, dir string, dirs ...string) *FS {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{serveVariable + "=" + dir, dirsVariable + "=" + strings.Join(dirs, "/")}
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tied.Start(cmd); err != nil { // its end is what ends the calls of a test that was killed
		t.Fatal(err)
	}
	fs := &FS{t: t, to: to, hangs: make(chan struct{}), waits: make(chan struct{}, 1)}
	said := bufio.NewReader(from)
	if first, _ := said.ReadString('\n'); first != saysServing {
		to.Close()
		_ = cmd.Wait()
		missing.Skip(t, "FUSE cannot be mounted here: ", first)
	}
	var listening sync.WaitGroup
	listening.Go(func() { fs.listen(said) })
	fs.abort = sync.OnceFunc(func() {
		to.Close()
		listening.Wait()
		if err := cmd.Wait(); err != nil {
			t.Error("the server of the file system:", err)
		}
	})
	t.Cleanup(fs.Abort)
	return fs
}

// listen takes what the server says, until it ends.
func (fs *FS) listen(said *bufio.Reader) {
	hangs := sync.OnceFunc(func() { close(fs.hangs) })
	defer hangs()
	for {
		line, err := said.ReadString('\n')
		switch {
		case err != nil:
			return
		case line == saysHangs:
			hangs()
		case line == saysWaits:
			select {
			case fs.waits <- struct{}{}:
			default:
			}
		}
	}
}

// Hang stops all answers.
func (fs *FS) Hang() {
	if _, err := io.WriteString(fs.to, tellHang); err != nil {
		fs.t.Error("the server of the file system:", err)
	}
	<-fs.hangs
}

// Waits gets an element when a call waits in vain.
func (fs *FS) Waits() <-chan struct{} { return fs.waits }

// Abort unmounts the file system. Calls that wait fail.
func (fs *FS) Abort() { fs.abort() }
