package delegation

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/wait"
)

const secret = "the host's secret"

// Every attack is first made against the plain way of reading (the oracle), where it must succeed: an attack that
// cannot succeed proves nothing. Then it is made against Read.

func TestAttackSymlink(t *testing.T) {
	outbox := newOutbox(t)
	path := filepath.Join(outbox.Path(), "request_s1.json")
	if err := os.Symlink(hostSecret(t), path); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != secret {
		t.Fatalf("the oracle is dead: %q, %v", data, err)
	}
	refusesToRead(t, outbox, ErrNotRegular, "a symbolic link")
}

// TestAttackSymlinkInside is a link that stays in the outbox, which even os.Root follows.
func TestAttackSymlinkInside(t *testing.T) {
	outbox := newOutbox(t)
	write(t, outbox, "other", secret)
	if err := os.Symlink("other", filepath.Join(outbox.Path(), "request_s1.json")); err != nil {
		t.Fatal(err)
	}
	if data, err := outbox.root.ReadFile("request_s1.json"); err != nil || string(data) != secret {
		t.Fatalf("the oracle is dead: %q, %v", data, err)
	}
	refusesToRead(t, outbox, ErrNotRegular, "a symbolic link")
}

func TestAttackHardLink(t *testing.T) {
	outbox := newOutbox(t)
	path := filepath.Join(outbox.Path(), "request_s1.json")
	if err := os.Link(hostSecret(t), path); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != secret {
		t.Fatalf("the oracle is dead: %q, %v", data, err)
	}
	refusesToRead(t, outbox, ErrLinked, "hard links")
}

func TestAttackNamedPipe(t *testing.T) {
	outbox := newOutbox(t)
	path := filepath.Join(outbox.Path(), "request_s1.json")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	naive := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(path)
		naive <- err
	}()
	within(t, func() { refusesToRead(t, outbox, ErrNotRegular, "a named pipe") })
	// A pipe can be opened for writing, without waiting, only while a reader waits: the oracle.
	var writer int
	eventually(t, func() (err error) {
		writer, err = unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	select {
	case err := <-naive:
		t.Errorf("the oracle is dead: it did not wait: %v", err)
	default:
	}
	if err := unix.Close(writer); err != nil {
		t.Fatal(err)
	}
	if err := <-naive; err != nil {
		t.Error(err)
	}
}

func TestAttackDirectory(t *testing.T) {
	outbox := newOutbox(t)
	if err := os.Mkdir(filepath.Join(outbox.Path(), "request_s1.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	refusesToRead(t, outbox, ErrNotRegular, "a directory")
}

func TestAttackSocket(t *testing.T) {
	outbox := newOutbox(t)
	t.Chdir(outbox.Path()) // a socket's address is short
	listener, err := net.Listen("unix", "request_s1.json")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refusesToRead(t, outbox, ErrNotRegular, "a socket")
}

func TestAttackSparseFile(t *testing.T) {
	outbox := newOutbox(t)
	write(t, outbox, "request_s1.json", "{}")
	path := filepath.Join(outbox.Path(), "request_s1.json")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n, err := io.Copy(io.Discard, io.LimitReader(file, 1<<24)); n != 1<<24 {
		t.Fatalf("the oracle is dead: it read %d bytes, %v", n, err)
	}
	allocated := testing.AllocsPerRun(1, func() { refusesToRead(t, outbox, ErrTooBig, "1099511627776 bytes") })
	if allocated > 100 {
		t.Errorf("%v allocations for a refusal", allocated)
	}
}

// TestAttackGrowing has a file change between the first look and the last.
func TestAttackGrowing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"over the limit":    {func(path string) error { return appendTo(path, strings.Repeat("x", 100)) }, ErrChanged},
		"within the limit":  {func(path string) error { return appendTo(path, "x") }, ErrChanged},
		"cut":               {func(path string) error { return os.Truncate(path, 1) }, ErrChanged},
		"rewritten in size": {func(path string) error { return rewrite(path, "54321") }, ErrChanged},
		"renamed over":      {func(path string) error { return renameOver(path, "54321") }, ErrChanged},
		"removed":           {os.Remove, ErrChanged},
		"linked":            {func(path string) error { return os.Link(path, path+".link") }, ErrChanged},
		"left alone":        {func(string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			outbox := newOutbox(t)
			write(t, outbox, "request_s1.json", "12345")
			file, before, err := outbox.open("request_s1.json", 8)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := c.change(filepath.Join(outbox.Path(), "request_s1.json")); err != nil {
				t.Fatal(err)
			}
			if data, err := readStable(file, before); !errors.Is(err, c.want) || err != nil && data != nil {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}

// refusesToRead reads request_s1.json and wants an error that is refused with a text that says so.
func refusesToRead(t *testing.T, outbox *Dir, want error, says string) {
	t.Helper()
	data, _, err := outbox.Read("request_s1.json", 1<<20)
	if !errors.Is(err, want) || data != nil {
		t.Errorf("got %q, %v; want %v", data, err, want)
	}
	refusal := RefuseEntry("request_s1.json", err)
	if refusal == nil || !strings.Contains(refusal.Text, says) || !strings.Contains(refusal.Text, "request_s1.json") {
		t.Fatalf("got %+v", refusal)
	}
	if code := map[bool]Code{true: CodeTooBig, false: CodeNotAFile}[want == ErrTooBig]; refusal.Code != code {
		t.Errorf("got code %s, want %s", refusal.Code, code)
	}
}

func TestRefuseEntryLeavesTheRest(t *testing.T) {
	outbox := newOutbox(t)
	_, _, missing := outbox.Read("request_s1.json", 1)
	for _, err := range []error{nil, missing, ErrChanged, ErrMoved, io.ErrUnexpectedEOF} {
		if refusal := RefuseEntry("request_s1.json", err); refusal != nil {
			t.Errorf("%v: %+v", err, refusal)
		}
	}
	hostile := RefuseEntry("request_\n"+strings.Repeat("x", 240), tooBig(1, 0))
	if strings.Contains(hostile.Text, "\n") || len(hostile.Text) > 250 {
		t.Errorf("the name is repeated as it is: %q", hostile.Text)
	}
}

// within fails when something takes so long that it must have blocked.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(wait.Patience):
		t.Fatal("it blocks")
	}
}

// eventually tries until there is no error.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(wait.Patience); ; runtime.Gosched() {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// hostSecret is a file beside the outbox, on the same file system so that it can be linked to.
func hostSecret(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func appendTo(path, data string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(data)
	return errors.Join(err, file.Close())
}

// rewrite keeps the size and makes sure that the clock of the file system has moved on.
func rewrite(path, data string) error {
	later := time.Now().Add(time.Second)
	return errors.Join(os.WriteFile(path, []byte(data), 0o600), os.Chtimes(path, later, later))
}

func renameOver(path, data string) error {
	return errors.Join(os.WriteFile(path+".new", []byte(data), 0o600), os.Rename(path+".new", path))
}
