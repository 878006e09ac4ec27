package delegation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/wait"
)

// TestAttackDevice needs root to make the device, as the parent is in many a container.
func TestAttackDevice(t *testing.T) {
	outbox := newOutbox(t)
	path := filepath.Join(outbox.Path(), "request_s1.json")
	if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		t.Skipf("a device cannot be made here: %v", err)
	}
	refusesToRead(t, outbox, ErrNotRegular, "a device")
}

// TestAttackLease holds a write lease, which makes a plain open wait for up to 45 seconds.
func TestAttackLease(t *testing.T) {
	outbox := newOutbox(t)
	write(t, outbox, "request_s1.json", "{}")
	path := filepath.Join(outbox.Path(), "request_s1.json")
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("no leases here: %v", err)
	}
	naive := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(path)
		naive <- err
	}()
	// The lease is being broken while a process waits in an open: the oracle.
	eventually(t, func() error {
		lease, err := unix.FcntlInt(holder.Fd(), unix.F_GETLEASE, 0)
		if err == nil && lease == unix.F_WRLCK {
			err = errors.New("the oracle is dead: nobody waits for the lease")
		}
		return err
	})
	within(t, func() {
		if _, _, err := outbox.Read("request_s1.json", 100); !errors.Is(err, ErrChanged) {
			t.Errorf("got %v, want ErrChanged", err)
		}
	})
	select {
	case err := <-naive:
		t.Errorf("the oracle is dead: it did not wait: %v", err)
	default:
	}
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		t.Fatal(err)
	}
	if err := <-naive; err != nil {
		t.Error(err)
	}
}

// TestAttackSwap exchanges a good file and a link to a secret as fast as it can. A reader that looks at the name and then
// opens the name is tricked sooner or later; a reader that opens what it looked at never is.
func TestAttackSwap(t *testing.T) {
	outbox := newOutbox(t)
	write(t, outbox, "request_s1.json", "good")
	request, link := filepath.Join(outbox.Path(), "request_s1.json"), filepath.Join(outbox.Path(), "link")
	if err := os.Symlink(hostSecret(t), link); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for !stop.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, request, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer attacker.Wait()
	defer stop.Store(true)
	tricked, reads := false, 0
	for deadline := time.Now().Add(wait.Patience); !tricked || reads < 200; {
		if time.Now().After(deadline) {
			t.Fatalf("after %d good reads: the oracle is dead: %v", reads, !tricked)
		}
		tricked = tricked || naiveReadIsTricked(request)
		data, _, err := outbox.Read("request_s1.json", 100)
		switch {
		case err == nil && string(data) == "good":
			reads++
		case errors.Is(err, ErrNotRegular) || errors.Is(err, ErrChanged):
		default:
			t.Fatalf("%q, %v", data, err)
		}
	}
}

// naiveReadIsTricked looks before it opens, as many do.
func naiveReadIsTricked(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && string(data) == secret
}

// TestUnreadable reads as a user without the right to.
func TestUnreadable(t *testing.T) {
	outbox := outboxOf(t, 1000, 1000)
	write(t, outbox, "request_s1.json", secret)
	asUser(t, 2000, func() error {
		data, _, err := outbox.Read("request_s1.json", 100)
		if refusal := RefuseEntry("request_s1.json", err); data != nil || refusal == nil || refusal.Code != CodeUnparsable {
			return fmt.Errorf("%q, %w, %+v", data, err, refusal)
		}
		return nil
	})
}

// TestOwner publishes as root into an outbox of another user.
func TestOwner(t *testing.T) {
	outbox := outboxOf(t, 1000, 1001)
	write(t, outbox, "response_s1.json", "planted by root, to be replaced")
	if err := outbox.Publish("response_s1.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	checkOwner(t, outbox, 1000, 1001, 0o640)
	if uid, gid := outbox.Owner(); uid != 1000 || gid != 1001 {
		t.Errorf("Owner says %d:%d", uid, gid)
	}
}

// TestOwnerCannotBeGiven publishes as a user that may not give files away: then every user may read the file.
func TestOwnerCannotBeGiven(t *testing.T) {
	outbox := outboxOf(t, 1000, 1001)
	asUser(t, 2000, func() error { return outbox.Publish("response_s1.json", []byte("{}")) })
	checkOwner(t, outbox, 2000, 2000, 0o644)
}

// TestOwnerIsMe publishes as the outbox's owner, under the narrowest umask.
func TestOwnerIsMe(t *testing.T) {
	old := unix.Umask(0o777)
	defer unix.Umask(old)
	outbox := openOutbox(t, outboxOf(t, 2000, 2000).Path())
	asUser(t, 2000, func() error {
		if err := outbox.Publish("response_s1.json", []byte("{}")); err != nil {
			return err
		}
		_, _, err := outbox.Read("response_s1.json", 2)
		return err
	})
	checkOwner(t, outbox, 2000, 2000, 0o640)
}

// TestFullDisk publishes where there is no room: the earlier file stays whole, and nothing is left behind.
func TestFullDisk(t *testing.T) {
	path := newOutbox(t).Path()
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	outbox := openOutbox(t, path)
	if err := outbox.Publish("response_s1.json", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := outbox.Publish("response_s1.json", make([]byte, 1<<20)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want that the disk is full", err)
	}
	if data, _, err := outbox.Read("response_s1.json", 100); err != nil || string(data) != "first" {
		t.Errorf("%q, %v", data, err)
	}
	if left := entries(t, outbox); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

func outboxOf(t *testing.T, uid, gid int) *Dir {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, which the watcher need not be, to be several users")
	}
	path := newOutbox(t).Path()
	if err := errors.Join(os.Chown(path, uid, gid), os.Chmod(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	return openOutbox(t, path)
}

func checkOwner(t *testing.T, outbox *Dir, uid, gid uint32, mode os.FileMode) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(outbox.Path(), "response_s1.json"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Uid != uid || st.Gid != gid || os.FileMode(st.Mode&0o7777) != mode {
		t.Errorf("%d:%d, mode %o; want %d:%d, mode %o", st.Uid, st.Gid, st.Mode&0o7777, uid, gid, mode)
	}
}

// asUser does something as another user. Only this one thread becomes that user, and ends with it.
func asUser(t *testing.T, uid int, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		for _, call := range []uintptr{unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			id := uintptr(uid)
			if call == unix.SYS_SETGROUPS {
				id = 0
			}
			if _, _, errno := unix.RawSyscall(call, id, id, id); errno != 0 {
				done <- errno
				return
			}
		}
		done <- do()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
