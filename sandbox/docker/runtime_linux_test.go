package docker_test

import (
	"os"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/sandbox/docker"
)

// TestGVisorAsTheEnginesRuntime: the kernel of the one, the engine of the other.
func TestGVisorAsTheEnginesRuntime(t *testing.T) {
	info, err := needEngine(t).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := info.Runtimes["runsc"]; !ok {
		if os.Getenv("CI") == "true" && os.Getenv("TORNO_ENGINE") == "private" {
			t.Fatal("the private engine has no runtime runsc; `make build` builds it")
		}
		t.Skip("NOT SHOWN HERE: this engine has no runtime runsc")
	}
	f := newField(t, docker.MountByHandle, func(o *docker.Options) { o.Runtime = "runsc" })
	enforced, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []sandbox.GuaranteeKey{sandbox.KernelIsolation, sandbox.SyscallFilter, sandbox.MountProof, sandbox.MountsByHandle} {
		if !enforced[key].Enforced {
			t.Errorf("%s: %s", key, enforced[key].By)
		}
	}
	e := f.run(f.spec("/bin/sh", "-c", `cat /proc/version; touch made && chmod u+s made || echo refused; ls -ln made | cut -d" " -f1; exit 3`))
	said := string(e.stdout)
	if e.exit.Code != 3 || !strings.Contains(said, "gvisor") || !strings.HasSuffix(said, "refused\n-rw-r--r--\n") {
		t.Errorf("exit %+v, %q, %q", e.exit, said, e.stderr)
	}
}
