package house

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"torno/test/attack"
	"torno/test/prober/verdict"
)

// bin is where the programs are, and build makes them there as they are shipped, once.
var (
	bin   string
	build = func() {}
)

// Main is for a package's TestMain: it runs the tests and returns their exit code. The first of them that wants a program has all of them
// built, with the given tags, so that a run whose tests want none builds none; or there are those that were built before.
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
	commands := buildCommands(tags)
	build = sync.OnceFunc(func() {
		if err := errors.Join(runAll(commands), copyRunsc()); err != nil {
			panic(err) // no test can do without
		}
	})
	return m.Run()
}

// buildCommands build the programs, in the environment of now: tests change it.
func buildCommands(tags []string) (all []*exec.Cmd) {
	for _, name := range []string{"watcher", "subagent", "model-gateway", "sandbox-init", Keeper} {
		command := exec.Command("go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-ldflags=-s -w", "-o", filepath.Join(bin, name), "torno/cmd/"+name)
		command.Dir, command.Env = attack.Root(), append(os.Environ(), "CGO_ENABLED=0")
		all = append(all, command)
	}
	return all
}

func runAll(commands []*exec.Cmd) error {
	for _, command := range commands {
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", command.Args, err, out)
		}
	}
	return nil
}

// copyRunsc has gVisor beside the others, where every user can run it, if it was built: that takes minutes.
func copyRunsc() error {
	built, err := os.Open(filepath.Join(attack.Root(), "bin", runsc))
	if err != nil {
		return nil // NeedGVisor says so
	}
	defer built.Close()
	here, err := os.OpenFile(filepath.Join(bin, runsc), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(here, built)
	return errors.Join(err, here.Close())
}

// Program is the path of a program, which is there.
func Program(name string) string {
	build()
	return filepath.Join(bin, name)
}
