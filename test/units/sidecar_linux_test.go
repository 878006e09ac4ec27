package units

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"torno/delegation"
	"torno/test/house"
	"torno/test/weak"
)

// sidecar is a watcher in a container that has what compose gives to it and the programs that the image has.
type sidecar struct {
	*house.House
	places weak.Places
	host   container.HostConfig
}

// sidecarConfig is the one in contrib, with directories of the test's.
const sidecarConfig = `version: 1
state: %[1]s/state
init: /usr/local/bin/sandbox-init
docker: {host: "unix:///run/docker.sock"}
profiles:
  shell:
    sandbox: %[2]s
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, pids: 128}
    %[3]s
outboxes:
  agent:
    dir: %[1]s/outbox
    allow: [%[1]s/outbox/workspaces]
`

// newSidecar lays out what is beside the container. On gVisor a child's system is a directory with one program, which is
// called with an argument or none.
func newSidecar(t *testing.T, sandbox string, argument ...string) *sidecar {
	t.Helper()
	dir := t.TempDir()
	s := &sidecar{House: &house.House{TB: t, Dir: dir, Outbox: filepath.Join(dir, "outbox")}, places: weak.New(t, dir), host: composed(t)}
	for _, sub := range []string{"outbox/workspaces", "bin", "state", "system/bin"} {
		s.Mkdir(filepath.Join(dir, sub))
	}
	s.Must(os.Chown(s.Outbox, parent, parent))
	s.Must(os.Chmod(filepath.Join(dir, "state"), 0o700))
	for _, name := range copied(t) {
		s.Must(os.Link(program(name), filepath.Join(dir, "bin", name)))
	}
	more := ""
	if sandbox == house.GVisor {
		buildChild(t, filepath.Join(dir, "system/bin/child"))
		more = "rootfs: dir:" + dir + "/system\n    command: [" + strings.Join(append([]string{"/bin/child"}, argument...), ", ") + "]"
	}
	s.Config = filepath.Join(dir, "watcher.yaml")
	s.Must(os.WriteFile(s.Config, fmt.Appendf(nil, sidecarConfig, dir, sandbox, more), 0o600))
	s.share(filepath.Join(dir, "state"))
	s.bind(s.Outbox, s.Outbox, "")
	s.bind(filepath.Join(dir, "system"), filepath.Join(dir, "system"), "")
	s.bind(filepath.Join(dir, "bin"), "/usr/local/bin", "")
	s.bind(s.Config, "/etc/torno/watcher.yaml", "")
	return s
}

func buildChild(t *testing.T, file string) {
	t.Helper()
	build := exec.Command("go", "build", "-trimpath", "-o", file, "torno/test/units/testdata/child")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// program is the real one where this test's stands in.
func program(name string) string {
	if name == "watcher" && standIn() == nil {
		name = proper
	}
	return house.Program(name)
}

// copied are the programs that the Dockerfile takes into the image.
func copied(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../contrib/sidecar/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^COPY (.*) /usr/local/bin/$`).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("the Dockerfile copies nothing")
	}
	return strings.Fields(found[1])
}

// composed is what compose.yaml says of the watcher's container.
func composed(t *testing.T) container.HostConfig {
	t.Helper()
	text, err := os.ReadFile("../../contrib/sidecar/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Network  string   `yaml:"network_mode"`
			ReadOnly bool     `yaml:"read_only"`
			Drop     []string `yaml:"cap_drop"`
			Add      []string `yaml:"cap_add"`
			Security []string `yaml:"security_opt"`
			Tmpfs    []string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	w := file.Services["watcher"]
	host := container.HostConfig{
		NetworkMode: container.NetworkMode(w.Network), ReadonlyRootfs: w.ReadOnly, CapDrop: w.Drop, CapAdd: w.Add, SecurityOpt: w.Security,
		Tmpfs: map[string]string{},
	}
	for _, at := range w.Tmpfs {
		path, options, _ := strings.Cut(at, ":")
		host.Tmpfs[path] = options
	}
	return host
}

func (s *sidecar) bind(source, target string, propagation mount.Propagation) {
	m := mount.Mount{Type: mount.TypeBind, Source: source, Target: target}
	if propagation != "" {
		m.BindOptions = &mount.BindOptions{Propagation: propagation}
	}
	s.host.Mounts = append(s.host.Mounts, m)
}

// share gives the container a directory whose mounts are seen on both sides, as those of a machine's root usually are.
func (s *sidecar) share(dir string) {
	s.Helper()
	s.Must(unix.Mount(dir, dir, "", unix.MS_BIND, ""))
	s.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			s.Error(err)
		}
	})
	s.Must(unix.Mount("", dir, "", unix.MS_SHARED, ""))
	s.bind(dir, dir, mount.PropagationRShared)
}

// run has a child served, and returns what came of it; or what the watcher said when it did not start.
func (s *sidecar) run() (resp delegation.Response, said string) {
	s.Helper()
	watcher := s.begin("run")
	defer s.end(watcher)
	s.Eventually("the watcher serves, or has ended", func() bool { return s.Exists(delegation.HeartbeatName) || s.ended(watcher) })
	if s.ended(watcher) {
		return resp, s.log(watcher)
	}
	return s.Run(house.Ask{ID: "s1", UID: parent, Task: "echo served"}), ""
}
