package weak

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"

	"torno/sandbox/local/hostroot"
)

// engineTime bounds what is asked of the engine outside of a test's own time.
const engineTime = time.Minute

// Engine is the engine of this machine. Where none answers the test is skipped; where one is promised, as in CI, it fails.
func Engine(t testing.TB) *client.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick tests use no engine")
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	if _, err := api.Ping(ctx); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no engine answers, and in CI one must: %v", err)
		}
		t.Skipf("NOTHING WAS TESTED: no Docker engine answers at %s (set DOCKER_HOST, or run scripts/engine): %v", api.DaemonHost(), err)
	}
	return api
}

// Places are where the walls are down.
type Places struct {
	testing.TB
	API   *client.Client
	Image string // without a file in it
	dir   string // of the host, at its own path, and with the workspace in it
}

// New makes places beside a test that has a directory with a workspace in it.
func New(t testing.TB, dir string) Places {
	t.Helper()
	p := Places{TB: t, API: Engine(t), Image: "torno-test/weak:" + strings.ToLower(rand.Text()), dir: dir}
	body, err := p.API.ImageImport(t.Context(), image.ImportSource{Source: p.root(), SourceName: "-"}, p.Image, image.ImportOptions{})
	p.must(err)
	defer body.Close()
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		if _, err := p.API.ImageRemove(ctx, p.Image, image.RemoveOptions{Force: true}); err != nil {
			p.Errorf("remove the weak containers' image: %v", err)
		}
	})
	_, err = io.Copy(io.Discard, body)
	p.must(err)
	return p
}

// root is a root as sandboxes have it: directories and links.
func (p Places) root() io.Reader {
	p.Helper()
	dir := filepath.Join(p.TempDir(), "root")
	p.must(hostroot.Read("/").Lay(dir))
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	p.must(archive.AddFS(os.DirFS(dir)))
	p.must(archive.Close())
	return &content
}

func (p Places) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// powers are the capabilities that the kernel asks for before it looks at what is wrong with a call. Privileged would be
// more than some machines have themselves.
var powers = []string{
	"AUDIT_CONTROL", "DAC_READ_SEARCH", "LINUX_IMMUTABLE", "NET_ADMIN", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_NICE",
	"SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_TIME", "SYS_TTY_CONFIG",
}

// Unwalled is a container as root, with every power, without a filter or a limit, and with nothing masked.
func (p Places) Unwalled() *container.HostConfig {
	return &container.HostConfig{
		NetworkMode: "none", CapAdd: powers, SecurityOpt: []string{"seccomp=unconfined", "apparmor=unconfined"},
		MaskedPaths: []string{}, ReadonlyPaths: []string{},
		Mounts: []mount.Mount{bind(filepath.Join(p.dir, "workspace"), "/workspace")},
	}
}

func bind(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target}
}

// onHost configures a container in the namespaces of the host, with its devices, its settings and its files.
func (p Places) onHost() *container.HostConfig {
	host := p.Unwalled()
	host.NetworkMode, host.PidMode, host.IpcMode, host.UTSMode, host.CgroupnsMode = "host", "host", "host", "host", "host"
	host.DeviceCgroupRules = []string{"b *:* rwm", "c *:* rwm"}
	for _, place := range []string{"/sys", "/dev", "/etc/shadow", "/var/log", p.dir} {
		host.Mounts = append(host.Mounts, bind(place, place))
	}
	host.Mounts = append(host.Mounts, bind(filepath.Join(p.dir, "workspace"), "/usr/bin"))
	if socket := p.socket(); socket != "" {
		host.Mounts = append(host.Mounts, bind(socket, socket))
	}
	return host
}

// socket is the engine's, if it is one of this machine.
func (p Places) socket() string {
	path, _ := strings.CutPrefix(p.API.DaemonHost(), "unix://")
	return path
}
