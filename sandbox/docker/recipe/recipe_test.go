package recipe_test

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
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/recipe"
	"torno/sandbox/local/hostroot"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recipes are two sandboxes that differ in everything in which two can.
var recipes = map[string]recipe.Recipe{
	"host": {
		Labels: names.Naming{Installation: "0123456789abcdef", State: "/var/lib/torno"}.Labels("aaaa"), Image: "torno/x:host-1", Nonce: "NONCEONE", UID: 2000000001, GID: 2000000001,
		Limits:  sandbox.Limits{Memory: 1 << 30, CPUs: 1500, Pids: 256, OpenFiles: 1024, FileSize: 1 << 28, Tmp: 1 << 27, Home: 1 << 26, Shm: 1 << 25, Log: 1 << 24},
		CPUs:    2000,
		Seccomp: `{"one":1}`,
		Mounts: append(recipe.ReadOnlyBinds(hostroot.Layout{Dirs: []string{"lib64"}, Local: true}.Binds("/state/etc-1", "/state/empty")),
			recipe.ReadOnlyBind("/state/slots/1/run", "/run/torno/run"), image.InitMount("torno-01234567-init-1"), mount.Mount{
				Type: mount.TypeBind, Source: "/state/slots/1/view0/self", Target: "/workspace",
				BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave},
			}),
	},
	"image": {
		Labels: names.Naming{Installation: "fedcba9876543210", State: "/var/lib/torno"}.SandboxLabels("bbbb", "big", 7), Image: "sha256:2", Runtime: "runsc", Nonce: "NONCETWO", UID: 1000, GID: 100,
		Limits:  sandbox.Limits{Memory: 1 << 31, CPUs: 8000, Pids: 1, OpenFiles: 2, FileSize: 3, Tmp: 4, Home: 5, Shm: 6, Log: 7},
		CPUs:    4000,
		Seccomp: `{"two":2}`,
		Mounts: []mount.Mount{recipe.ReadOnlyBind("/srv/socket", "/run/model.sock"), {
			Type: mount.TypeBind, Source: "/state/slots/7/view0", Target: "/srv/outbox", ReadOnly: true,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave, ReadOnlyNonRecursive: true},
		}},
		Covers: []string{"/var/lib/data"},
	},
}

// TestContainerConfig compares what the engine would be told with what a reviewer has read.
func TestContainerConfig(t *testing.T) {
	for name, r := range recipes {
		t.Run(name, func(t *testing.T) {
			r.Labels[names.LabelVersion] = "v0"
			config, host := r.Container()
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
