//go:build linux

package exhaust

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"torno/sandbox"
)

// Instances is how many inotify instances others got while one child had taken all. The kernel counts them by user: a child
// that takes them all takes them from all processes of its uid.
type Instances struct{ Quota, Child, Neighbour, Owner, Stranger int64 }

func (i Instances) String() string {
	return fmt.Sprintf("the child took %d of %d; beside it another child got %d, the workspace's owner %d, another user %d",
		i.Child, i.Quota, i.Neighbour, i.Owner, i.Stranger)
}

// Inotify has one child take all, and hold them.
func Inotify(f *Field) (taken Instances) {
	f.Helper()
	if os.Geteuid() != 0 {
		f.Skip("only root can be the owner of a workspace and somebody else")
	}
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	f.must(err)
	taken.Quota, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	f.must(err)

	greedy := f.prober("hold", "inotify", fmt.Sprint(taken.Quota+100))
	greedy.Limits.OpenFiles = taken.Quota + 1000
	h := f.create(greedy)
	defer f.remove(h)
	taken.Child = lastNumber(Hear(f.Context(), f, f.start(h), "holding\n"))

	few, _ := f.run(f.prober("take", "inotify", "3"))
	taken.Neighbour = lastNumber(few)
	const somebody = 1_999_999_999
	taken.Owner, taken.Stranger = f.instancesOf(f.Owner, 3), f.instancesOf(somebody, 3)
	return taken
}

// instancesOf takes some on the host, as a user of it.
func (f *Field) instancesOf(uid uint32, most int) (got int64) {
	f.Helper()
	f.must(os.Chmod(filepath.Dir(f.Base), 0o711)) // so that others come through to the program
	cmd := exec.Command(filepath.Join(f.Base, "workspace", "prober"), "take", "inotify", strconv.Itoa(most))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = "/"
	out, err := cmd.Output()
	if len(out) == 0 {
		f.Fatalf("the host's own prober says nothing: %v", err)
	}
	return lastNumber(string(out))
}

// Hear reads until standard output ends with text, and returns it.
func Hear(ctx context.Context, t testing.TB, a sandbox.Attachment, text string) (heard string) {
	t.Helper()
	for !strings.HasSuffix(heard, text) {
		select {
		case chunk, more := <-a.Output():
			if !more {
				t.Fatalf("it ended, and said %q", heard)
			}
			if chunk.Stream == sandbox.Stdout {
				heard += string(chunk.Bytes)
			}
		case <-ctx.Done():
			t.Fatalf("it said %q and no more", heard)
		}
	}
	return heard
}
