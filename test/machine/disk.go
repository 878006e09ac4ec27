package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ours are the programs on the disk, and the packages whose tests are there as NAME.test.
var (
	ours  = []string{"cmd/watcher", "cmd/subagent", "cmd/sandbox-init", "cmd/sandbox-keeper", "test/prober"}
	tests = []string{"test/machine/inside", "internal/cgroups", "sandbox/gvisor", "cmd/sandbox-init"}
)

// programs is where they lie on it.
const programs = "programs"

// makeDisk makes the disk in a directory: a file system in a file.
func makeDisk(dir string, p parts) (string, error) {
	root, disk := filepath.Join(dir, "root"), filepath.Join(dir, "disk")
	defer os.RemoveAll(root)
	for _, fill := range []func(root string, p parts) error{skeleton, build, shell} {
		if err := fill(root, p); err != nil {
			return "", err
		}
	}
	out, err := exec.Command(p.mke2fs, "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", root, disk, diskSize).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", p.mke2fs, err, out)
	}
	return disk, nil
}

// diskSize is more than all of it takes; what is empty takes nothing.
const diskSize = "2G"

// skeleton has the directories and links of every machine.
func skeleton(root string, p parts) error {
	var errs []error
	for _, dir := range []string{"dev", "etc", "proc", "root", "run", "srv", "sys", "tmp", programs, "usr/bin", "usr/lib", "usr/local", "usr/sbin", "var"} {
		errs = append(errs, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, name := range []string{"bin", "sbin", "lib"} {
		errs = append(errs, os.Symlink("usr/"+name, filepath.Join(root, name)))
	}
	return errors.Join(append(errs,
		os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky),
		os.WriteFile(filepath.Join(root, "etc/passwd"), []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644),
		copyFile(filepath.Join(root, programs, "runsc"), p.runsc))...)
}

// build builds what is ours, static, and as `make build` does it: what that has compiled is not compiled again.
func build(root string, p parts) error {
	to := filepath.Join(root, programs)
	commands := [][]string{
		append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", to}, packages(ours)...),
		{"build", "-trimpath", "-o", filepath.Join(root, "guest"), "torno/test/machine/guest"},
	}
	for _, pkg := range tests {
		commands = append(commands, []string{"test", "-c", "-trimpath", "-o", filepath.Join(to, filepath.Base(pkg)+".test"), "torno/" + pkg})
	}
	for _, args := range commands {
		command := exec.Command("go", args...)
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

func packages(paths []string) (all []string) {
	for _, path := range paths {
		all = append(all, "torno/"+path)
	}
	return all
}

// applets are the programs of busybox that tests and children run.
var applets = []string{
	"cat", "chmod", "cut", "dd", "echo", "env", "false", "grep", "head", "id", "kill", "ls", "mkdir", "mount", "ps", "rm", "seq", "sh", "sleep",
	"sort", "stat", "tail", "test", "touch", "tr", "true", "wc", "yes",
}

// shell is busybox, with a name for each of its applets.
func shell(root string, p parts) error {
	errs := []error{copyFile(filepath.Join(root, "usr/bin/busybox"), p.busybox)}
	for _, name := range applets {
		errs = append(errs, os.Symlink("busybox", filepath.Join(root, "usr/bin", name)))
	}
	return errors.Join(errs...)
}

// copyFile copies a program.
func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
