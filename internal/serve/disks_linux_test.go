package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/inode"
)

// disk mounts an image at a new directory, or makes one there first.
func (s *shop) disk(image, name string) (dir string) {
	s.Helper()
	dir = filepath.Join(s.dir, name)
	s.must(os.MkdirAll(dir, 0o755))
	tools := [][]string{{"mount", "-o", "loop", image, dir}}
	if _, err := os.Stat(image); err != nil {
		s.must(os.WriteFile(image, nil, 0o600))
		s.must(os.Truncate(image, 8<<20))
		tools = append([][]string{{"mkfs.ext4", "-q", image}}, tools...)
	}
	for _, tool := range tools {
		if said, err := exec.Command(tool[0], tool[1:]...).CombinedOutput(); err != nil {
			s.Skipf("NOTHING WAS TRIED: %v: %v: %s", tool, err, said)
		}
	}
	s.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// newShopOnADisk is a shop whose outbox lies on a disk of its own, mounted at "first".
func newShopOnADisk(t *testing.T) (s *shop, image string) {
	t.Helper()
	tools := os.Getenv("PATH")
	s = newShop(t)
	t.Setenv("PATH", os.Getenv("PATH")+":"+tools)
	image = filepath.Join(s.dir, "image")
	box := filepath.Join(s.disk(image, "first"), "outbox")
	s.must(os.MkdirAll(filepath.Join(box, "workspaces"), 0o755))
	first := &s.config.Outboxes[0]
	first.Dir, first.Allow, first.Paths = box, []string{filepath.Join(box, "workspaces")}, nil
	s.config.Disk = configs.Disk{}
	return s, image
}

// TestADiskIsMountedAMomentTooLate: the host takes the mount point for the outbox, and goes on with the disk by itself when it is there.
func TestADiskIsMountedAMomentTooLate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root may mount")
	}
	s, image := newShopOnADisk(t)
	ended := s.open()
	s.ask("s1", "echo one")
	s.answer("s1")
	s.stop(ended)
	s.must(unix.Unmount(filepath.Join(s.dir, "first"), 0))
	s.said.reset()
	ended = s.open()
	s.disk(image, "first")
	s.eventually("it goes on with the disk", func() bool { return strings.Contains(s.said.String(), "is back, and the outbox goes on there") })
	s.ask("s2", "echo two")
	if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request on the disk: %+v", r)
	}
	if ran := s.world.Released(); len(ran) != 2 {
		t.Errorf("two requests, and %v ran", ran)
	}
	s.stop(ended)
}

// TestTwoCopiesOfOneDisk have directories with the same numbers. The outbox that is known is served, and the copy when an operator has said that
// it is another one; from then on their names tell them apart.
func TestTwoCopiesOfOneDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root may mount")
	}
	s, image := newShopOnADisk(t)
	s.stop(s.open())
	unix.Sync()
	data, err := os.ReadFile(image)
	s.must(err)
	s.must(os.WriteFile(image+".copy", data, 0o600))
	second := filepath.Join(s.disk(image+".copy", "second"), "outbox")
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
