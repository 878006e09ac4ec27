package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/inode"
	"torno/test/disk"
	"torno/test/missing"
)

// newShopOnADisk makes a shop whose outbox lies on a disk of its own.
func newShopOnADisk(t *testing.T, size int64, mkfs string) (s *shop, dir string) {
	t.Helper()
	dir = disk.New(t, size, mkfs, "-q")
	tools := os.Getenv("PATH")
	s = newShop(t)
	t.Setenv("PATH", os.Getenv("PATH")+":"+tools)
	box := filepath.Join(dir, "outbox")
	s.must(os.MkdirAll(filepath.Join(box, "workspaces"), 0o755))
	first := &s.config.Outboxes[0]
	first.Dir, first.Allow, first.Paths = box, []string{filepath.Join(box, "workspaces")}, nil
	s.config.Disk = configs.Disk{}
	return s, dir
}

// TestADiskIsMountedAMomentTooLate: the mount point is not the outbox, and the disk is when it is there, also where the machine finds it under
// another number than before. Nothing that was answered runs again.
func TestADiskIsMountedAMomentTooLate(t *testing.T) {
	for mkfs, size := range map[string]int64{"mkfs.ext4": 8 << 20, "mkfs.xfs": 320 << 20} {
		t.Run(mkfs, func(t *testing.T) {
			s, dir := newShopOnADisk(t, size, mkfs)
			client := control.Dial(s.config.State)
			ended := s.open()
			s.ask("s1", "echo one")
			s.answer("s1")
			s.stop(ended)
			plug := disk.Unplug(t, dir)
			s.must(os.MkdirAll(filepath.Join(dir, "outbox", "workspaces"), 0o755))
			s.said.reset()
			ended = s.open()
			status, err := client.Status(t.Context())
			s.must(err)
			if !strings.Contains(status.Outboxes[0].Trouble, "the right directory may not be mounted") {
				t.Errorf("of the mount point it says %q", status.Outboxes[0].Trouble)
			}
			if said := s.said.String(); strings.Contains(said, "msg=try") || strings.Contains(said, `outboxes="`+dir) {
				t.Errorf("it calls it served:\n%s", said)
			}
			plug()
			s.ask("s2", "echo two")
			if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
				t.Errorf("a request on the disk: %+v", r)
			}
			if ran := s.world.Released(); len(ran) != 2 {
				t.Errorf("two requests, and %v ran", ran)
			}
			s.stop(ended)
		})
	}
}

// TestABindMountComesTooLate: its mount point lies on the same file system as the directory that is mounted there, and is not taken for it.
func TestABindMountComesTooLate(t *testing.T) {
	s := newShop(t)
	dir := s.config.Outboxes[0].Dir
	real := dir + ".real"
	s.must(errors.Join(os.MkdirAll(filepath.Join(real, "workspaces"), 0o755), os.MkdirAll(filepath.Join(dir, "workspaces"), 0o755)))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	mount := func() {
		if err := unix.Mount(real, dir, "", unix.MS_BIND, ""); err != nil {
			missing.Skip(t, "nothing can be mounted here:", err)
		}
	}
	mount()
	client := control.Dial(s.config.State)
	ended := s.open()
	s.ask("s1", "echo one")
	s.answer("s1")
	s.stop(ended)
	s.must(unix.Unmount(dir, 0))
	s.said.reset()
	ended = s.open()
	status, err := client.Status(t.Context())
	s.must(err)
	if !strings.Contains(status.Outboxes[0].Trouble, "the right directory may not be mounted") {
		t.Errorf("of the mount point it says %q", status.Outboxes[0].Trouble)
	}
	mount()
	s.ask("s2", "echo two")
	if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request at the mount: %+v", r)
	}
	if ran := s.world.Released(); len(ran) != 2 {
		t.Errorf("two requests, and %v ran", ran)
	}
	s.stop(ended)
}

// TestTwoCopiesOfOneDisk have directories with the same numbers. The outbox that is known is served, and the copy when an operator has said that
// it is another one; from then on their names tell them apart.
func TestTwoCopiesOfOneDisk(t *testing.T) {
	s, dir := newShopOnADisk(t, 8<<20, "mkfs.ext4")
	s.stop(s.open())
	second := filepath.Join(disk.Copy(t, dir), "outbox")
	s.addOutbox(second, filepath.Join(second, "workspaces"))
	if one, two := s.look(s.config.Outboxes[0].Dir), s.look(second); !one.Same(two) {
		t.Skipf("NOTHING WAS TRIED: %v and %v are no copies of one directory", one, two)
	}
	client := control.Dial(s.config.State)
	s.said.reset()
	ended := s.open()
	s.ask("s1", "echo one")
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the outbox that is known: %+v", r)
	}
	status, err := client.Status(t.Context())
	s.must(err)
	if !strings.Contains(status.Outboxes[1].Trouble, "accept second --new") {
		t.Errorf("of the other one it says %q", status.Outboxes[1].Trouble)
	}
	_, err = client.Accept(t.Context(), "second", control.New)
	s.must(err)
	s.eventually("both are served", func() bool {
		status, err := client.Status(t.Context())
		return err == nil && status.Outboxes[0].Trouble == "" && status.Outboxes[1].Trouble == ""
	})
	status, err = client.Status(t.Context())
	s.must(err)
	ids := []string{status.Outboxes[0].ID, status.Outboxes[1].ID}
	s.stop(ended)
	s.said.reset()
	ended = s.open()
	if status, err = client.Status(t.Context()); err != nil || status.Outboxes[0].ID != ids[0] || status.Outboxes[1].ID != ids[1] || ids[0] == ids[1] {
		t.Errorf("they were %q, and the next start has %+v, %v", ids, status.Outboxes, err)
	}
	s.stop(ended)
}

func (s *shop) look(dir string) inode.Directory {
	s.Helper()
	opened, err := os.Open(dir)
	s.must(err)
	defer opened.Close()
	found, err := inode.Of(opened)
	s.must(err)
	return found
}
