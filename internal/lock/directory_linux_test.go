package lock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// holderEnv makes the test binary another process that holds the outbox of this path until its input ends.
const holderEnv = "TORNO_TEST_LOCK_HOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderEnv); dir != "" {
		if err := directory(dir).Lock(); err != nil {
			fmt.Println(err)
		}
		fmt.Println("tried")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func directory(dir string) *Directory {
	return OfDirectory(dir, func() (*os.File, error) { return os.Open(dir) }, func(error) {})
}

// TestAWatcherOfAnotherUserIsFound: the other one sees no file of our runtime directory, and we none of its. The oracle is
// the lock in the runtime directory, which both have at once.
func TestAWatcherOfAnotherUserIsFound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: a watcher of another user: only root can be two users")
	}
	dir := shared(t)
	other := exec.Command("/proc/self/exe")
	other.Env = []string{holderEnv + "=" + dir}
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
	input, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(output).ReadString('\n'); err != nil || said != "tried\n" {
		t.Fatalf("the other one says %q, %v", said, err)
	}
	must(t, outbox, dir).Unlock() // the oracle
	ours := directory(dir)
	held, ok := errors.AsType[*HeldError](ours.Lock())
	if !ok || !strings.HasPrefix(held.Holder, fmt.Sprintf("process %d", other.Process.Pid)) {
		t.Errorf("a second watcher of another user gets %v", held)
	}
	input.Close()
	other.Wait()
	for range 2 {
		if err := ours.Lock(); err != nil {
			t.Errorf("when the other one is gone: %v", err)
		}
	}
	if err := ours.Unlock(); err != nil {
		t.Error(err)
	}
}

// shared is a directory that other users can open.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "torno-lock-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestNoChildInheritsTheLock: the lock ends with its holder although a child lives on.
func TestNoChildInheritsTheLock(t *testing.T) {
	dir := t.TempDir()
	first := directory(dir)
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/proc/self/exe")
	child.Env = []string{holderEnv + "=" + t.TempDir()}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer input.Close()
	first.file.Close() // as the end of the process does, without a word to the lock
	second := directory(dir)
	if err := second.Lock(); err != nil {
		t.Errorf("a child holds the lock: %v", err)
	}
	second.Unlock()
}

// TestAFileSystemWithoutFlock is said once; the lock in the runtime directory is left.
func TestAFileSystemWithoutFlock(t *testing.T) {
	dir, said := t.TempDir(), 0
	for _, errno := range noFlock {
		d := OfDirectory(dir, func() (*os.File, error) { return os.Open(dir) }, func(error) { said++ })
		d.lock = func(*os.File) error { return errno } // of a file system that a test cannot have
		for range 2 {
			if err := d.Lock(); err != nil {
				t.Errorf("%v: %v", errno, err)
			}
		}
	}
	if said != len(noFlock) {
		t.Errorf("it was said %d times", said)
	}
	broken := directory(dir)
	broken.lock = func(*os.File) error { return unix.EIO }
	if err := broken.Lock(); !errors.Is(err, unix.EIO) {
		t.Errorf("a fault of the disk is %v", err)
	}
}

// TestTheHolderIsFound: who looks at an outbox of another user's watcher is told which process serves it.
func TestTheHolderIsFound(t *testing.T) {
	dir := t.TempDir()
	if all := Holders(dir); all != nil {
		t.Errorf("nothing holds it, and %v are named", all)
	}
	l := OfDirectory(dir, func() (*os.File, error) { return os.Open(dir) }, func(error) {})
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if all := Holders(dir); !slices.Equal(all, []int{os.Getpid()}) {
		t.Errorf("%v hold it; we are %d", all, os.Getpid())
	}
}
