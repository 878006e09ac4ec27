package docker_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"torno/sandbox/docker"
)

// build compiles a program of testdata into the workspace, statically.
func (f *field) build(what string, env ...string) {
	f.Helper()
	file := filepath.Join(f.base, "workspace", what)
	cmd := exec.Command("go", "build", "-o", file, "./testdata/"+what)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("build %s: %v\n%s", what, err, out)
	}
}

// powers are the capabilities that the kernel asks for before it looks at what is wrong with a call. Privileged would be
// more than some machines have themselves.
var powers = []string{
	"AUDIT_CONTROL", "DAC_READ_SEARCH", "NET_ADMIN", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT",
	"SYS_PTRACE", "SYS_RAWIO", "SYS_TIME",
}

// weak runs argv in a container without any of our walls, as root, in the same directory. What a probe does there it
// could do, so that what it cannot do in a sandbox is the sandbox's doing.
func (f *field) weak(argv ...string) (stdout string, code int) {
	f.Helper()
	api := needEngine(f.TB)
	images := f.images(api)
	made, err := api.ContainerCreate(f.ctx, &container.Config{Image: images[0], Entrypoint: argv}, &container.HostConfig{
		NetworkMode: "none", CapAdd: powers, SecurityOpt: []string{"seccomp=unconfined", "apparmor=unconfined"},
		Mounts: []mount.Mount{{Type: mount.TypeBind, Source: filepath.Join(f.base, "workspace"), Target: "/workspace"}},
	}, nil, nil, "torno-weak-"+filepath.Base(f.house.dir)+"-"+strings.ToLower(filepath.Base(f.base)+f.key().Hash()[:8]))
	f.must(err)
	defer func() { f.must(api.ContainerRemove(f.ctx, made.ID, container.RemoveOptions{Force: true})) }()
	f.must(api.ContainerStart(f.ctx, made.ID, container.StartOptions{}))
	done, failed := api.ContainerWait(f.ctx, made.ID, container.WaitConditionNotRunning)
	select {
	case result := <-done:
		code = int(result.StatusCode)
	case err := <-failed:
		f.Fatal(err)
	}
	log, err := api.ContainerLogs(f.ctx, made.ID, container.LogsOptions{ShowStdout: true})
	f.must(err)
	defer log.Close()
	var out strings.Builder
	_, err = stdcopy.StdCopy(&out, &out, log)
	f.must(err)
	return out.String(), code
}

// images are those that the field's installation has imported.
func (f *field) images(api *client.Client) []string {
	f.Helper()
	_, id := f.house.state("ours")
	found := f.labelled(api, id).images
	if len(found) == 0 {
		f.Fatal("the launcher has imported no image")
	}
	return found
}

// mayBe are the outcomes of a refusal by a filter.
var mayBe = []string{"EPERM", "ENOSYS"}

// TestFilterRefuses runs the prober in a sandbox and in a weak container. Where both say the same the probe is dead, and
// proves nothing.
func TestFilterRefuses(t *testing.T) {
	f := newField(t, docker.MountAuto)
	f.build("prober")
	f.must(os.Chmod(f.mkdir("workspace/weak"), 0o777))
	f.mkdir("workspace/strong")
	text, code := f.weak("/workspace/prober", "/workspace/weak")
	weak := outcomes(t, text, code)
	e := f.run(f.spec("/workspace/prober", "/workspace/strong"))
	strong := outcomes(t, string(e.stdout), e.exit.Code)
	if len(strong) < 60 || len(strong) != len(weak) {
		t.Fatalf("the prober tried %d things in the sandbox and %d outside", len(strong), len(weak))
	}
	refused := 0
	for what, got := range strong {
		switch {
		case strings.HasPrefix(what, "allowed: "):
			if slices.Contains(mayBe, got) || got != weak[what] {
				t.Errorf("%s: %s, and outside %s", what, got, weak[what])
			}
		case !slices.Contains(mayBe, got):
			t.Errorf("%s is let through: %s", what, got)
		case weak[what] == "ENOSYS":
			t.Logf("%s: this kernel has none, so that nothing was proved", what)
		case slices.Contains(mayBe, weak[what]):
			t.Errorf("%s: the probe is dead: %s outside as well", what, weak[what])
		default:
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("only %d refusals were proved", refused)
	}
}

func outcomes(t *testing.T, text string, code int) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 {
		t.Fatalf("the prober failed: %v, exit %d, %q", err, code, text)
	}
	return all
}

// TestForeignArchitectureIsKilled: the same processor's 32-bit system calls are none that the filter has looked at.
func TestForeignArchitectureIsKilled(t *testing.T) {
	f := newField(t, docker.MountAuto)
	f.build("alive", "GOARCH=386")
	here, err := exec.Command(filepath.Join(f.base, "workspace", "alive")).Output()
	var broken *exec.ExitError
	if err != nil && !errors.As(err, &broken) {
		t.Skipf("this kernel runs no 32-bit programs: %v", err)
	}
	if text, code := f.weak("/workspace/alive"); text != "alive\n" || code != 0 {
		t.Fatalf("the probe is dead: %q and exit %d outside, %q here", text, code, here)
	}
	const killedBySIGSYS = 128 + 31
	if e := f.run(f.spec("/workspace/alive")); e.exit.Code != killedBySIGSYS || len(e.stdout) > 0 {
		t.Errorf("exit %d, stdout %q", e.exit.Code, e.stdout)
	}
}
