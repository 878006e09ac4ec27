package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compiler plays go: it answers what it is asked, notes each build and the filters that it was given, and writes programs
// that every user may change.
const compiler = `#!/bin/sh
case $1 in
env)
	shift
	for name; do
		case $name in
		GOHOSTOS | GOOS) echo linux ;;
		GOHOSTARCH) echo amd64 ;;
		GOARCH) echo "${GOARCH-amd64}" ;;
		GOAMD64) echo "${GOAMD64-v1}" ;;
		GOVERSION) echo go1.26.8 ;;
		esac
	done
	;;
list) case $* in *Dir*) echo "$MODULE" ;; *) echo v1.2.3 ;; esac ;;
mod) ;;
build)
	for what; do :; done
	[ "$what" = ./precompile ] || { echo "$CGO_ENABLED $*" && cat filters.go ../gvisor/kernel.go; } >>"$NOTES"
	while [ "$1" != -o ]; do shift; done
	[ -z "$BROKEN" ] || exit 1
	printf '#!/bin/sh\necho the filters; exit "${UNCOMPILED:-0}"\n' >"$2" && chmod 777 "$2"
	;;
esac
`

// The module that go knows has one file, and a patch for it.
const (
	kernel = "slow\n"
	patch  = "--- a/kernel.go\n+++ b/kernel.go\n@@ -1 +1 @@\n-slow\n+fast\n"
)

// builder is a copy of the script and of the module, so that both can be changed.
type builder struct {
	t   *testing.T
	dir string
}

func newBuilder(t *testing.T) builder {
	t.Helper()
	b := builder{t, t.TempDir()}
	for _, name := range []string{"scripts/runsc", "runsc/go.mod", "runsc/go.sum", "runsc/filters.go", "runsc/early/go.mod", "runsc/precompile/main.go"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		b.write(name, string(data))
	}
	b.write("go", compiler)
	b.write("module/kernel.go", kernel)
	b.write("runsc/patches/fast.patch", patch)
	return b
}

func (b builder) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// build runs the script and says what it printed, whether it compiled, and with what.
func (b builder) build(env ...string) (said string, compiled []string, err error) {
	b.t.Helper()
	notes := filepath.Join(b.dir, "notes")
	if err := os.RemoveAll(notes); err != nil {
		b.t.Fatal(err)
	}
	run := exec.Command(filepath.Join(b.dir, "scripts", "runsc"), filepath.Join(b.dir, "bin"))
	run.Env = append(append(os.Environ(), "GO="+filepath.Join(b.dir, "go"), "NOTES="+notes, "MODULE="+filepath.Join(b.dir, "module")), env...)
	out, err := run.CombinedOutput()
	text, _ := os.ReadFile(notes)
	return string(out), strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), err
}

func TestRunscIsBuiltOnce(t *testing.T) {
	b := newBuilder(t)
	check := func(what string, built bool, env ...string) {
		t.Helper()
		said, compiled, err := b.build(env...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, said)
		}
		if did := compiled[0] != ""; did != built || (said != "") != built {
			t.Errorf("%s: it was built: %v, and it said %q", what, did, said)
		}
	}
	check("for the first time", true)
	check("once more", false)
	check("for another machine", true, "GOARCH=arm64")
	check("back again", true)
	check("in another way", true, "GOAMD64=v3")
	check("in the usual way", true)
	b.write("runsc/go.sum", "other sums")
	check("of other sources", true)
	b.write("runsc/patches/fast.patch", strings.ReplaceAll(patch, "fast", "faster"))
	check("with another patch", true)
	if err := os.Remove(filepath.Join(b.dir, "bin", "runsc")); err != nil {
		t.Fatal(err)
	}
	check("after it was removed", true)

	if said, _, err := b.build("GOARCH=arm64", "BROKEN=yes"); err == nil {
		t.Errorf("a failure is none: %s", said)
	}
	check("after a failure", true, "GOARCH=arm64")
}

func TestRunscIsBuiltAsItIsUsed(t *testing.T) {
	b := newBuilder(t)
	said, compiled, err := b.build()
	if err != nil || !strings.Contains(said, "v1.2.3: about six minutes") {
		t.Errorf("it said %q, %v", said, err)
	}
	const want = "0 build -trimpath -ldflags -s -w -X gvisor.dev/gvisor/runsc/version.version=v1.2.3 -o "
	if !strings.HasPrefix(compiled[0], want) || !slices.Equal(compiled[1:], []string{"the filters", "fast"}) {
		t.Errorf("it was built with\n%q, want\n%s", compiled, want)
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "bin", ".*"))
	if err != nil || len(left) != 1 {
		t.Errorf("what was left behind beside the stamp: %q, %v", left, err)
	}
	info, err := os.Stat(filepath.Join(b.dir, "bin", "runsc"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestPatchesAreApplied: also where the sources lie in a repository of git's. A patch that does not fit fails the build.
func TestPatchesAreApplied(t *testing.T) {
	b := newBuilder(t)
	if out, err := exec.Command("git", "init", "-q", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if said, compiled, err := b.build(); err != nil || !slices.Contains(compiled, "fast") {
		t.Errorf("%q, %v\n%s", compiled, err, said)
	}
	b.write("module/kernel.go", "quite slow\n")
	b.write("runsc/go.sum", "another version")
	if said, compiled, err := b.build(); err == nil {
		t.Errorf("a patch that does not fit was built: %q\n%s", compiled, said)
	}
}

// TestFiltersAreThoseOfTheirProcessor: what cannot be compiled for another one here is compiled there, at each start; what
// fails fails.
func TestFiltersAreThoseOfTheirProcessor(t *testing.T) {
	b := newBuilder(t)
	if said, compiled, err := b.build("GOARCH=arm64"); err != nil || slices.Contains(compiled, "the filters") {
		t.Errorf("%q, %v\n%s", compiled, err, said)
	}
	if said, compiled, err := b.build("UNCOMPILED=1"); err == nil {
		t.Errorf("%q\n%s", compiled, said)
	}
}

// TestWhatIsLeftOut asks make what it would build elsewhere.
func TestWhatIsLeftOut(t *testing.T) {
	for target, want := range map[string]struct{ programs, leftOut string }{
		"linux/amd64":   {"./cmd/watcher ./cmd/subagent ./cmd/model-gateway ./cmd/sandbox-init ./cmd/sandbox-keeper", ""},
		"linux/arm64":   {"./cmd/watcher ./cmd/subagent ./cmd/model-gateway ./cmd/sandbox-init ./cmd/sandbox-keeper", ""},
		"linux/riscv64": {"./cmd/watcher ./cmd/subagent ./cmd/model-gateway ./cmd/sandbox-init ./cmd/sandbox-keeper", "there: runsc'"},
		"darwin/arm64":  {"./cmd/watcher ./cmd/subagent ./cmd/model-gateway", "there: sandbox-init sandbox-keeper runsc'"},
	} {
		system, processor, _ := strings.Cut(target, "/")
		ask := exec.Command("make", "-n", "-C", "../..", "build")
		ask.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "MAKEFLAGS=")
		out, err := ask.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := string(out)
		if !strings.Contains(text, "-o bin/ "+want.programs+"\n") {
			t.Errorf("%s: the programs are others\n%s", target, text)
		}
		if strings.Contains(text, "left out") != (want.leftOut != "") || !strings.Contains(text, want.leftOut) {
			t.Errorf("%s: what is left out is not %q\n%s", target, want.leftOut, text)
		}
		if gvisor := strings.Contains(text, "scripts/runsc bin"); gvisor != (target == "linux/amd64" || target == "linux/arm64") {
			t.Errorf("%s: runsc is built: %v", target, gvisor)
		}
	}
}
