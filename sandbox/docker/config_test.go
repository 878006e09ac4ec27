package docker

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"torno/sandbox"
	"torno/sandbox/local/hostroot"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recipes are two sandboxes that differ in everything in which two can.
var recipes = map[string]recipe{
	"host": {
		labels: naming{"0123456789abcdef", "/var/lib/torno"}.labels("aaaa"), image: "torno/x:host-1", nonce: "NONCEONE", uid: 2000000001, gid: 2000000001,
		limits:  sandbox.Limits{Memory: 1 << 30, CPUs: 1500, Pids: 256, OpenFiles: 1024, FileSize: 1 << 28, Tmp: 1 << 27, Home: 1 << 26, Shm: 1 << 25, Log: 1 << 24},
		cpus:    2000,
		seccomp: `{"one":1}`,
		mounts: append(readOnlyBinds(hostroot.Layout{Dirs: []string{"lib64"}, Local: true}.Binds("/state/etc-1", "/state/empty")),
			readOnlyBind("/state/slots/1/run", "/run/torno/run"), initMount("torno-01234567-init-1"), mount.Mount{
				Type: mount.TypeBind, Source: "/state/slots/1/view0/self", Target: "/workspace",
				BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave},
			}),
	},
	"image": {
		labels: naming{"fedcba9876543210", "/var/lib/torno"}.sandboxLabels("bbbb", "big", 7), image: "sha256:2", runtime: "runsc", nonce: "NONCETWO", uid: 1000, gid: 100,
		limits:  sandbox.Limits{Memory: 1 << 31, CPUs: 8000, Pids: 1, OpenFiles: 2, FileSize: 3, Tmp: 4, Home: 5, Shm: 6, Log: 7},
		cpus:    4000,
		seccomp: `{"two":2}`,
		mounts: []mount.Mount{readOnlyBind("/srv/socket", "/run/model.sock"), {
			Type: mount.TypeBind, Source: "/state/slots/7/view0", Target: "/srv/outbox", ReadOnly: true,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave, ReadOnlyNonRecursive: true},
		}},
		covers: []string{"/var/lib/data"},
	},
}

// TestContainerConfig compares what the engine would be told with what a reviewer has read.
func TestContainerConfig(t *testing.T) {
	for name, r := range recipes {
		t.Run(name, func(t *testing.T) {
			r.labels[labelVersion] = "v0"
			config, host := containerConfig(r)
			got, err := json.MarshalIndent(struct {
				Config     *container.Config
				HostConfig *container.HostConfig
			}{config, host}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(append(got, '\n'), want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
