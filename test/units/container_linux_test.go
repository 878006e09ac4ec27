package units

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// begin starts the watcher's program in a container, with the configuration.
func (s *sidecar) begin(arguments ...string) (id string) {
	s.Helper()
	api := s.places.API
	made, err := api.ContainerCreate(s.Context(), &container.Config{
		Image: s.places.Image, Entrypoint: []string{"/usr/local/bin/watcher"}, Cmd: append(arguments, "--config", "/etc/torno/watcher.yaml"),
	}, &s.host, nil, nil, "")
	s.Must(err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), house.Patience)
		defer cancel()
		if err := api.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			s.Error(err)
		}
	})
	s.Must(api.ContainerStart(s.Context(), made.ID, container.StartOptions{}))
	return made.ID
}

func (s *sidecar) ended(id string) bool {
	s.Helper()
	seen, err := s.places.API.ContainerInspect(s.Context(), id)
	s.Must(err)
	return !seen.State.Running
}

func (s *sidecar) log(id string) string {
	s.Helper()
	log, err := s.places.API.ContainerLogs(s.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	s.Must(err)
	defer log.Close()
	var said strings.Builder
	_, err = stdcopy.StdCopy(&said, &said, log)
	s.Must(err)
	return said.String()
}

// end stops the watcher and removes what its installation has, as its operator would: in the container.
func (s *sidecar) end(id string) {
	s.Helper()
	patience := int(house.Patience / time.Second)
	s.Must(s.places.API.ContainerStop(s.Context(), id, container.StopOptions{Timeout: &patience}))
	purge := s.begin("purge", "--yes")
	s.Eventually("all is removed", func() bool { return s.ended(purge) })
	said := s.log(purge)
	if s.Failed() {
		s.Logf("the watcher said:\n%s\nand purge:\n%s", s.log(id), said)
	}
}

func TestTheSidecarServes(t *testing.T) {
	need(t, house.Docker)
	s := newSidecar(t, house.Docker)
	s.bind(strings.TrimPrefix(s.places.API.DaemonHost(), "unix://"), "/run/docker.sock", "")
	resp, said := s.run()
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "served\n" {
		t.Errorf("the child printed %q, the watcher said %q", resp.StdoutTail, said)
	}
}

// looks are what the sidecar needs beside what compose.yaml gives to it to look into sandboxes, and what is said without one.
var looks = []struct {
	without, says string
	add           func(*sidecar)
}{
	{"pids", "it needs the host's process ids", func(s *sidecar) { s.host.PidMode = "host" }},
	{"SYS_PTRACE", "it needs the right to trace (CAP_SYS_PTRACE)", func(s *sidecar) { s.host.CapAdd = append(s.host.CapAdd, "SYS_PTRACE") }},
	{"cgroup", "control group is not to be seen", func(s *sidecar) {
		s.host.CgroupnsMode = "host"
		s.bind("/sys/fs/cgroup", "/sys/fs/cgroup", "")
		s.host.Mounts[len(s.host.Mounts)-1].ReadOnly = true
	}},
}

// TestWhatTheSidecarAttests: it looks into sandboxes with all of them. Without any one its runs say that nothing was attested and
// why, and go their way.
func TestWhatTheSidecarAttests(t *testing.T) {
	need(t, house.Docker)
	for _, left := range append(looks, struct {
		without, says string
		add           func(*sidecar)
	}{"nothing", "", nil}) {
		t.Run("without "+left.without, func(t *testing.T) {
			s := newSidecar(t, house.Docker)
			for _, look := range looks {
				if look.without != left.without {
					look.add(s)
				}
			}
			s.bind(strings.TrimPrefix(s.places.API.DaemonHost(), "unix://"), "/run/docker.sock", "")
			watcher := s.begin("run")
			defer s.end(watcher)
			s.Eventually("the watcher serves", func() bool { return s.Exists(delegation.HeartbeatName) || s.ended(watcher) })
			resp := s.Run(house.Ask{ID: "s1", UID: parent, Task: "echo served"})
			s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			run, err := control.Dial(filepath.Join(s.Dir, "state")).Run(t.Context(), "agent/s1")
			s.Must(err)
			attested := left.without == "nothing"
			if resp.Attested == nil || *resp.Attested != attested {
				t.Errorf("the response does not say that attested is %t", attested)
			}
			if run.Attestation == nil || !strings.Contains(run.Attestation.Why, left.says) || attested != (run.Attestation.Why == "") {
				t.Errorf("the run has %+v, want %q", run.Attestation, left.says)
			}
		})
	}
}

// additions are what gVisor needs in the container beside what compose.yaml gives to it, and what is said without one. Without the right
// to chroot the gofer ends, and now and then the sentry complains first, of a file that the gofer should have written.
var additions = []struct {
	without, says, or string
	add               func(*sidecar)
}{
	{"SYS_CHROOT", "chroot", "reading mounts file", func(s *sidecar) { s.host.CapAdd = append(s.host.CapAdd, "SYS_CHROOT") }},
	{"seccomp", "pivot_root", "pivot_root", func(s *sidecar) { s.host.SecurityOpt = append(s.host.SecurityOpt, "seccomp=unconfined") }},
	{"cgroup", "read-only file system", "read-only file system", func(s *sidecar) { s.bind("/sys/fs/cgroup", "/sys/fs/cgroup", "") }},
}

// TestGVisorInTheSidecar works with all of them, with no engine's socket, and says what it lacks without any one.
func TestGVisorInTheSidecar(t *testing.T) {
	need(t, house.Docker)
	need(t, house.GVisor)
	for _, left := range append(additions, struct {
		without, says, or string
		add               func(*sidecar)
	}{"nothing", "", "", nil}) {
		t.Run("without "+left.without, func(t *testing.T) {
			s := newSidecar(t, house.GVisor)
			for _, a := range additions {
				if a.without != left.without {
					a.add(s)
				}
			}
			resp, said := s.run()
			if !strings.Contains(said, left.says) && !strings.Contains(said, left.or) || (said == "") != (left.says == "") {
				t.Errorf("the watcher said %q, want %q", said, left.says)
			}
			if said == "" {
				s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			}
		})
	}
}

// TestChildrenOnGVisorEndWithTheSidecar, because they are processes of the container; and are not forgotten.
func TestChildrenOnGVisorEndWithTheSidecar(t *testing.T) {
	need(t, house.Docker)
	need(t, house.GVisor)
	s := newSidecar(t, house.GVisor, "stay")
	for _, a := range additions {
		a.add(s)
	}
	watcher := s.begin("run")
	defer s.end(watcher)
	s.Eventually("the watcher serves", func() bool { return s.Exists(delegation.HeartbeatName) })
	a := s.Submit(house.Ask{ID: "s1", UID: parent, Task: "wait"})
	s.Eventually("the child runs", func() bool {
		return s.Exists("status_s1.json") && strings.Contains(s.Read(s.Path("status_s1.json")), `"running"`)
	})
	s.Must(s.places.API.ContainerKill(t.Context(), watcher, "KILL"))
	s.Eventually("the container is dead", func() bool { return s.ended(watcher) })
	s.Must(s.places.API.ContainerStart(t.Context(), watcher, container.StartOptions{}))
	s.Want(s.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
}
