package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/cgroups"
	"torno/test/house"
)

// bareRunsc is `runsc run` by hand: the same program in the same root, with the file systems that every sandbox of ours
// has and with our flags, without a keeper, init, filter or anything of the host's that is shown.
//
// On a busy machine the kernel divides processors among groups first. So a fair comparison has a control group beside
// those of our sandboxes, with the same limits; it is made beforehand. Without groups the run is where the test is.
type bareRunsc struct {
	runsc, dir string
	group      *cgroups.Group // nil without groups
	runs       int
}

func newBareRunsc(b *testing.B, root string) *bareRunsc {
	b.Helper()
	runsc := house.Program("runsc")
	if other := os.Getenv("TORNO_BARE_RUNSC"); other != "" {
		runsc = other
	}
	dir, err := os.MkdirTemp("", "bare") // short: sockets lie below it
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = unix.Unmount(filepath.Join(dir, "state", "null-netns"), unix.MNT_DETACH) // runsc leaves it mounted
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	text, err := json.Marshal(bareBundle(root))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	return &bareRunsc{runsc: runsc, dir: dir, group: bareGroup(b)}
}

func bareGroup(b *testing.B) *cgroups.Group {
	b.Helper()
	tree, err := cgroups.Find()
	if errors.Is(err, cgroups.ErrNone) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	limits := cgroups.Limits{Memory: 320 << 20, CPUs: 1000 * int64(min(2, runtime.NumCPU())), Pids: 1024}
	group, err := tree.Plan(fmt.Sprint("torno/bare-", os.Getpid()), limits).Make()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := group.Remove(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return group
}

// run times one whole run, from the call to the end of the command, which removes the sandbox first.
func (r *bareRunsc) run(b *testing.B) time.Duration {
	b.Helper()
	return r.timed(b, func(command *exec.Cmd) error { return command.Start() })
}

// bounded times one whole run in the control group.
func (r *bareRunsc) bounded(b *testing.B) time.Duration {
	b.Helper()
	if r.group == nil {
		return r.run(b)
	}
	return r.timed(b, func(command *exec.Cmd) error {
		return r.group.Start(func(dir *os.File) error {
			if dir != nil {
				command.SysProcAttr = inGroup(dir)
			}
			return command.Start()
		})
	})
}

func (r *bareRunsc) timed(b *testing.B, start func(*exec.Cmd) error) time.Duration {
	b.Helper()
	r.runs++
	command := exec.Command(r.runsc, "--root="+filepath.Join(r.dir, "state"), "--platform=systrap", "--network=none",
		"--ignore-cgroups", "--overlay2=none", "--directfs=false", "--host-uds=none", "--host-fifo=none",
		"--file-access-mounts=shared", "--host-settings=ignore", "run", "--bundle="+r.dir, fmt.Sprint("bare", r.runs))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	begin := time.Now()
	err := start(command)
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		b.Fatalf("runsc run: %v\n%s", err, out.Bytes())
	}
	return time.Since(begin)
}

func bareBundle(root string) map[string]any {
	type object = map[string]any
	mount := func(target, kind string, options ...string) object {
		return object{"destination": target, "type": kind, "source": kind, "options": options}
	}
	namespaces := []object{{"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "cgroup"}}
	return object{
		"ociVersion": "1.0.0",
		"root":       object{"path": root, "readonly": true},
		"process": object{
			"args": []string{"/noop"}, "cwd": "/", "user": object{"uid": 65534, "gid": 65534}, "capabilities": object{}, "noNewPrivileges": true,
		},
		"mounts": []object{
			mount("/proc", "proc"), mount("/dev", "tmpfs"), mount("/sys", "sysfs", "ro"),
			mount("/dev/shm", "tmpfs"), mount("/tmp", "tmpfs"), mount("/home", "tmpfs"),
		},
		"linux": object{"namespaces": namespaces},
	}
}

// inGroup has a process begin in a control group of version 2.
func inGroup(dir *os.File) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
}
