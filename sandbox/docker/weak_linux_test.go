package docker_test

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"torno/sandbox/sandboxtest"
	"torno/test/prober/inside"
)

// powers are the capabilities that the kernel asks for before it looks at what is wrong with a call. Privileged would be
// more than some machines have themselves.
var powers = []string{
	"AUDIT_CONTROL", "DAC_READ_SEARCH", "LINUX_IMMUTABLE", "NET_ADMIN", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_NICE",
	"SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_TIME", "SYS_TTY_CONFIG",
}

// weak makes containers that lack our walls, on the image that an installation has imported.
type weak struct {
	testing.TB
	api   *client.Client
	image string
	dir   string // of the host, at its own path, and with the workspace in it
}

// newWeak is for containers beside those of an installation of a house.
func newWeak(t testing.TB, h *house, name, dir string) weak {
	w := weak{TB: t, api: needEngine(t), dir: dir}
	_, id := h.state(name)
	images, err := w.api.ImageList(t.Context(), image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "torno.installation="+id))})
	w.must(err)
	if len(images) == 0 {
		t.Fatal("the launcher has imported no image")
	}
	w.image = images[0].ID
	return w
}

// unwalled is a container as root, with every power, without a filter, and with nothing masked. What a probe does there
// it could do, so that what it cannot do in a sandbox is the sandbox's doing.
func (w weak) unwalled() *container.HostConfig {
	return &container.HostConfig{
		NetworkMode: "none", CapAdd: powers, SecurityOpt: []string{"seccomp=unconfined", "apparmor=unconfined"},
		MaskedPaths: []string{}, ReadonlyPaths: []string{},
		Mounts: []mount.Mount{w.bind(filepath.Join(w.dir, "workspace"), "/workspace")},
	}
}

func (w weak) bind(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target}
}

// onHost is one that is in the namespaces of the host, with its devices, its settings and its files.
func (w weak) onHost() *container.HostConfig {
	host := w.unwalled()
	host.NetworkMode, host.PidMode, host.IpcMode, host.UTSMode, host.CgroupnsMode = "host", "host", "host", "host", "host"
	host.DeviceCgroupRules = []string{"b *:* rwm", "c *:* rwm"}
	for _, place := range []string{"/sys", "/dev", "/etc/shadow", "/var/log", w.dir} {
		host.Mounts = append(host.Mounts, w.bind(place, place))
	}
	host.Mounts = append(host.Mounts, w.bind(filepath.Join(w.dir, "workspace"), "/usr/bin"))
	if socket := w.socket(); socket != "" {
		host.Mounts = append(host.Mounts, w.bind(socket, socket))
	}
	return host
}

// socket is the engine's, if it is one of this machine.
func (w weak) socket() string {
	path, _ := strings.CutPrefix(w.api.DaemonHost(), "unix://")
	return path
}

// begin starts a container, which is removed when the test ends.
func (w weak) begin(host *container.HostConfig, argv ...string) (id string) {
	w.Helper()
	made, err := w.api.ContainerCreate(w.Context(), &container.Config{
		Image: w.image, Entrypoint: argv, Env: []string{"ENGINE_ID=" + strings.Repeat("ab", 32)},
	}, host, nil, nil, "")
	w.must(err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		if err := w.api.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			w.Errorf("remove a weak container: %v", err)
		}
	})
	w.must(w.api.ContainerStart(w.Context(), made.ID, container.StartOptions{}))
	return made.ID
}

func (w weak) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ended is one that has run to its end.
func (w weak) ended(host *container.HostConfig, argv ...string) (id string, code int) {
	w.Helper()
	id = w.begin(host, argv...)
	done, failed := w.api.ContainerWait(w.Context(), id, container.WaitConditionNotRunning)
	select {
	case result := <-done:
		code = int(result.StatusCode)
	case err := <-failed:
		w.Fatal(err)
	}
	return id, code
}

// run is a whole run of one.
func (w weak) run(host *container.HostConfig, argv ...string) (stdout string, code int) {
	w.Helper()
	id, code := w.ended(host, argv...)
	log, err := w.api.ContainerLogs(w.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	w.must(err)
	defer log.Close()
	var out, errors strings.Builder
	_, err = stdcopy.StdCopy(&out, &errors, log)
	w.must(err)
	if code != 0 {
		w.Logf("a weak container said: %s", &errors)
	}
	return out.String(), code
}

// neighbour starts one on the host that can be reached from where no wall is.
func (w weak) neighbour() (n inside.Neighbour) {
	w.Helper()
	id := w.begin(w.onHost(), "/workspace/prober", "stay")
	log, err := w.api.ContainerLogs(w.Context(), id, container.LogsOptions{ShowStdout: true, Follow: true})
	w.must(err)
	defer log.Close()
	reader, writer := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(writer, io.Discard, log)
		writer.CloseWithError(err)
	}()
	defer reader.Close()
	w.must(json.NewDecoder(reader).Decode(&n))
	return n
}

// controls are the weak places of the contract's prober.
func controls(h *house) func(t *testing.T, dir string) sandboxtest.Controls {
	return func(t *testing.T, dir string) sandboxtest.Controls {
		w := newWeak(t, h, "ours", dir)
		return sandboxtest.Controls{
			Ground: inside.Ground{Socket: w.socket(), Neighbour: w.neighbour()},
			Try: func(ground string) map[string][]inside.Outcome {
				return map[string][]inside.Outcome{
					"no filter, every power": w.outcomes(w.unwalled(), "try", ground),
					"on the host":            w.outcomes(w.onHost(), "try", ground),
					"an open network":        w.outcomes(w.unwalled(), "network", ground),
				}
			},
		}
	}
}

func (w weak) outcomes(host *container.HostConfig, args ...string) (all []inside.Outcome) {
	w.Helper()
	text, code := w.run(host, append([]string{"/workspace/prober"}, args...)...)
	if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 {
		w.Errorf("the prober failed in a weak container: %v, exit %d, %q", err, code, text)
	}
	return all
}
