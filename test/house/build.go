package house

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/test/attack"
	"torno/test/prober/verdict"
)

// bin is where the programs are, built as they are shipped.
var bin string

// Main is for a package's TestMain: it builds the programs, with the given tags, or takes those that were built before, runs the
// tests and returns their exit code.
func Main(m *testing.M, tags ...string) int {
	syscall.Umask(0o022) // an ordinary user has to execute what is made here
	if bin = os.Getenv(verdict.Programs); bin != "" {
		return m.Run()
	}
	dir, err := openDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	for _, name := range []string{"watcher", "subagent", "model-gateway", "sandbox-init", Keeper} {
		command := exec.Command("go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-ldflags=-s -w", "-o", Program(name), "torno/cmd/"+name)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	if err := copyRunsc(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// copyRunsc has gVisor beside the others, where every user can run it, if it was built: that takes minutes.
func copyRunsc() error {
	built, err := os.Open(filepath.Join(attack.Root(), "bin", runsc))
	if err != nil {
		return nil // NeedGVisor says so
	}
	defer built.Close()
	here, err := os.OpenFile(Program(runsc), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(here, built)
	return errors.Join(err, here.Close())
}

// Program is the path of a program that Main has built.
func Program(name string) string { return filepath.Join(bin, name) }
