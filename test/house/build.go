package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/attack"
)

// bin is where the programs are, built as they are shipped.
var bin string

// Main is for a package's TestMain: it builds the programs, with the given tags, runs the tests and returns their exit code.
func Main(m *testing.M, tags ...string) int {
	dir, err := os.MkdirTemp("", "torno-house-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	for _, name := range []string{"watcher", "subagent", "sandbox-init", Keeper} {
		command := exec.Command("go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-ldflags=-s -w", "-o", Program(name), "torno/cmd/"+name)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	if err := linkRunsc(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// linkRunsc has gVisor beside the others, where it was built: that takes minutes.
func linkRunsc() error {
	built := filepath.Join(attack.Root(), "bin", runsc)
	if _, err := os.Stat(built); err != nil {
		return nil //nolint:nilerr // NeedGVisor says so
	}
	return os.Symlink(built, Program(runsc))
}

// Program is the path of a program that Main has built.
func Program(name string) string { return filepath.Join(bin, name) }
