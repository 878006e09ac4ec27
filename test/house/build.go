package house

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Built names a directory in which somebody has just built the programs, for all packages whose tests want them without tags.
const Built = "TORNO_TEST_BUILT"

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
	fill := func() error { return copyPrograms(os.Getenv(Built)) }
	if os.Getenv(Built) == "" || len(tags) > 0 {
		command := buildCommand(context.Background(), dir, tags) // in the environment of now: tests change it
		fill = func() error { return run(command) }
	}
	build = sync.OnceFunc(func() {
		if err := errors.Join(fill(), copyRunsc()); err != nil {
			panic(err) // no test can do without
		}
	})
	return m.Run()
}

// programs are the shipped ones, but for gVisor's.
var programs = []string{"watcher", "subagent", "model-gateway", "sandbox-init", Keeper}

// BuildPrograms builds the programs as they are shipped.
func BuildPrograms(ctx context.Context, dir string) error { return run(buildCommand(ctx, dir, nil)) }

func buildCommand(ctx context.Context, dir string, tags []string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-ldflags=-s -w", "-o", dir+"/")
	for _, name := range programs {
		command.Args = append(command.Args, "torno/cmd/"+name)
	}
	command.Dir, command.Env = attack.Root(), append(os.Environ(), "CGO_ENABLED=0")
	return command
}

func run(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", command.Args, err, out)
	}
	return nil
}

// copyPrograms has the programs of another directory in bin.
func copyPrograms(from string) (err error) {
	for _, name := range programs {
		err = errors.Join(err, copyProgram(filepath.Join(from, name)))
	}
	return err
}

// copyRunsc has gVisor beside the others, if it was built: that takes minutes.
func copyRunsc() error {
	err := copyProgram(filepath.Join(attack.Root(), "bin", runsc))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // NeedGVisor says so
	}
	return err
}

// copyProgram copies a program into bin, where every user can run it.
func copyProgram(from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	here, err := os.OpenFile(filepath.Join(bin, filepath.Base(from)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(here, source)
	return errors.Join(err, here.Close())
}

// Program is the path of a program, which is there.
func Program(name string) string {
	build()
	return filepath.Join(bin, name)
}
