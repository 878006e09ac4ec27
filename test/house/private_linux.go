package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Private is an engine of a test's own, with a containerd of its own, which the test stops, kills and starves.
type Private struct {
	Engine
	testing.TB
	Dir, Socket string

	flags               []string
	containerd, dockerd *daemon
}

// PrivatePlan says how a private engine differs from the usual one.
type PrivatePlan struct {
	Flags []string // of dockerd
	Size  string   // of the file system that holds its data; "" for the machine's own
}

// footprints are the files that these programs leave at fixed places, whatever their flags say.
var footprints = []string{"/etc/docker/key.json", "/etc/docker", "/run/docker/plugins", "/run/docker", "/run/containerd/s", "/run/containerd"}

// NewPrivate starts an engine. It goes with the test; scripts/engine cleans up after it, also when the test is killed.
func NewPrivate(t testing.TB, plan PrivatePlan) *Private {
	t.Helper()
	NeedPrivate(t)
	dir, err := os.MkdirTemp("", "torno-engine.")
	if err != nil {
		t.Fatal(err)
	}
	p := &Private{TB: t, Dir: dir, Socket: filepath.Join(dir, "docker.sock"), flags: plan.Flags}
	p.Engine = engineAt(p.Socket)
	fresh := missing(footprints)
	p.must(os.Chmod(dir, 0o711)) // a child's uid must be able to pass through
	for _, name := range []string{"containerd", "data", "exec"} {
		p.must(os.Mkdir(p.path(name), 0o711))
	}
	t.Cleanup(func() { p.cleanUp(fresh) })
	if plan.Size != "" {
		p.must(unix.Mount("torno-test", p.path("data"), "tmpfs", 0, "mode=711,size="+plan.Size))
	}
	p.must(os.WriteFile(p.path("daemon.json"), []byte("{}"), 0o600))
	p.must(os.WriteFile(p.path("containerd.toml"), fmt.Appendf(nil, containerdConfig, dir), 0o600))
	p.containerd = p.run("containerd", "--config", p.path("containerd.toml"))
	p.must(p.reaper(strconv.Itoa(os.Getpid()), fresh).Start())
	p.Launch()
	p.Await()
	return p
}

const containerdConfig = `version = 2
root = "%[1]s/containerd/root"
state = "%[1]s/containerd/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "%[1]s/containerd.sock"
[ttrpc]
  address = "%[1]s/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/containerd/opt"
`

// NeedPrivate skips loudly where no engine can be started, and fails in CI.
func NeedPrivate(t testing.TB) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("NOT SHOWN HERE: -short leaves the real engine out")
	case runtime.GOOS == "linux" && os.Geteuid() == 0 && len(missing([]string{which("dockerd"), which("containerd")})) == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("a private engine needs root on Linux, dockerd and containerd")
	default:
		t.Skip("NOT SHOWN HERE: a private engine needs root on Linux, dockerd and containerd")
	}
}

// which finds a program where root's may be.
func which(name string) string {
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	return filepath.Join("/usr/sbin", name)
}

func missing(paths []string) (gone []string) {
	for _, p := range paths {
		if _, err := os.Lstat(p); err != nil {
			gone = append(gone, p)
		}
	}
	return gone
}

func (p *Private) path(name string) string { return filepath.Join(p.Dir, name) }

func (p *Private) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// Host is its socket as a configuration names it.
func (p *Private) Host() string { return "unix://" + p.Socket }

// Launch starts the daemon, again after it ended.
func (p *Private) Launch() {
	p.Helper()
	p.dockerd = p.run("dockerd", append([]string{
		"--config-file", p.path("daemon.json"), "--containerd", p.path("containerd.sock"), "--host", p.Host(),
		"--data-root", p.path("data"), "--exec-root", p.path("exec"), "--pidfile", p.path("pid"), "--shutdown-timeout", "2",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
	}, p.flags...)...)
}

// Await waits until it answers.
func (p *Private) Await() {
	p.Helper()
	for deadline := time.Now().Add(Patience); !p.answers(); time.Sleep(3 * time.Millisecond) {
		if p.dockerd.ended() || time.Now().After(deadline) {
			said, _ := os.ReadFile(p.path("log"))
			p.Fatalf("the private engine does not come up:\n%s", said)
		}
	}
}

func (p *Private) answers() bool {
	response, err := p.HTTP.Get("http://engine/_ping")
	if err == nil {
		response.Body.Close()
	}
	return err == nil
}

// Stop ends the daemon as its operator does, and waits for that.
func (p *Private) Stop() { p.dockerd.end(syscall.SIGTERM) }

// Kill ends the daemon at once.
func (p *Private) Kill() { p.dockerd.end(syscall.SIGKILL) }

// CutPower ends everything at once: the daemon, containerd, their shims and the containers.
func (p *Private) CutPower() {
	p.Helper()
	p.Kill()
	p.containerd.end(syscall.SIGKILL)
	p.stragglers()
}

// PowerUp starts everything again.
func (p *Private) PowerUp() {
	p.Helper()
	p.containerd = p.run("containerd", "--config", p.path("containerd.toml"))
	p.Launch()
	p.Await()
}

// CleanAway kills a container and removes every trace of it beneath the daemon, which is dead.
func (p *Private) CleanAway(container string) {
	p.Helper()
	for _, args := range [][]string{{"task", "rm", "--force", container}, {"container", "rm", container}} {
		args = append([]string{"--address", p.path("containerd.sock"), "--namespace", "moby"}, args...)
		if out, err := exec.Command(which("ctr"), args...).CombinedOutput(); err != nil {
			p.Fatalf("ctr %v: %v\n%s", args, err, out)
		}
	}
}

// Hang stops the daemon in the middle of whatever it does, until it is let on.
func (p *Private) Hang() (letOn func()) {
	p.Helper()
	p.must(p.dockerd.Process.Signal(syscall.SIGSTOP))
	return func() { p.Helper(); p.must(p.dockerd.Process.Signal(syscall.SIGCONT)) }
}

// cleanUp ends the daemons and has the script remove what they leave.
func (p *Private) cleanUp(fresh []string) {
	for _, d := range []*daemon{p.dockerd, p.containerd} {
		if d != nil {
			_ = d.Process.Signal(syscall.SIGCONT)
			d.end(syscall.SIGTERM)
		}
	}
	if out, err := p.reaper(noProcess, fresh).CombinedOutput(); err != nil {
		p.Errorf("%s cannot be removed: %v\n%s", p.Dir, err, out)
	}
}

// noProcess is a process id that never exists: the daemons are dead when their reaper comes.
const noProcess = "2147483647"

// reaper cleans up when a process has ended.
func (p *Private) reaper(of string, fresh []string) *exec.Cmd {
	args := append([]string{"reap", of, p.Dir, noProcess, noProcess}, fresh...)
	c := exec.Command("../../scripts/engine", args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}
