package weak

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/pkg/stdcopy"

	"torno/sandbox/sandboxtest"
	"torno/test/prober/inside"
)

// Controls are the weak places of the contract's prober, whatever launcher it tries.
func Controls(t *testing.T, dir string) sandboxtest.Controls {
	p := New(t, dir)
	return sandboxtest.Controls{
		Ground: inside.Ground{Socket: p.socket(), Neighbour: p.neighbour()},
		Open:   p.open,
		Run: func(args ...string) {
			if said, code := p.Run(p.Unwalled(), append([]string{"/workspace/prober"}, args...)...); code != 0 {
				p.Errorf("the prober failed in a weak container: exit %d, %q", code, said)
			}
		},
		Try: func(ground string) map[string][]inside.Outcome {
			return map[string][]inside.Outcome{
				"no filter, every power": p.outcomes(p.Unwalled(), "try", ground),
				"on the host":            p.outcomes(p.onHost(), "try", ground),
				"an open network":        p.outcomes(p.Unwalled(), "network", ground),
			}
		},
	}
}

// open starts a container that shows directories with what is mounted below them, and leads to its root.
func (p Places) open(dirs ...string) (root string) {
	p.Helper()
	host := p.Unwalled()
	for _, dir := range dirs {
		m := bind(dir, dir)
		m.BindOptions = &mount.BindOptions{Propagation: mount.PropagationRSlave}
		host.Mounts = append(host.Mounts, m)
	}
	running, err := p.API.ContainerInspect(p.Context(), p.begin(host, "/workspace/prober", "stay"))
	p.must(err)
	return fmt.Sprintf("/proc/%d/root", running.State.Pid)
}

// neighbour starts one on the host that can be reached from where no wall is.
func (p Places) neighbour() (n inside.Neighbour) {
	p.Helper()
	id := p.begin(p.onHost(), "/workspace/prober", "stay")
	log, err := p.API.ContainerLogs(p.Context(), id, container.LogsOptions{ShowStdout: true, Follow: true})
	p.must(err)
	defer log.Close()
	reader, writer := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(writer, io.Discard, log)
		writer.CloseWithError(err)
	}()
	defer reader.Close()
	p.must(json.NewDecoder(reader).Decode(&n))
	return n
}

func (p Places) outcomes(host *container.HostConfig, args ...string) (all []inside.Outcome) {
	p.Helper()
	text, code := p.Run(host, append([]string{"/workspace/prober"}, args...)...)
	if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 {
		p.Errorf("the prober failed in a weak container: %v, exit %d, %q", err, code, text)
	}
	return all
}
