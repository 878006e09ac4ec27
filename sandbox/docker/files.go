package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
)

// userDir is the part of the run directory that stands for the files of /etc which differ between sandboxes.
const userDir = "etc"

// writeFiles fills the slot's run directory, which belongs to the host, and binds it with what else the host gives.
func (m *making) writeFiles(context.Context) error {
	dir := m.slot.RunDir()
	if err := makePublicDir(filepath.Join(dir, userDir)); err != nil {
		return err
	}
	for name, content := range userEtc(m.recipe.uid, m.recipe.gid) {
		if err := writePublic(filepath.Join(dir, userDir, name), []byte(content)); err != nil {
			return err
		}
	}
	for _, file := range m.order.spec.Files {
		if err := checkFileName(file.Name); err != nil {
			return err
		}
		if err := writePublic(filepath.Join(dir, file.Name), file.Content); err != nil {
			return err
		}
	}
	if err := runfile.Write(filepath.Join(dir, filepath.Base(runfile.Path)), m.runFile()); err != nil {
		return err
	}
	return m.bindFiles(dir)
}

// checkFileName keeps a file of the spec out of the way of ours.
func checkFileName(name string) error {
	if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." || name == userDir || name == filepath.Base(runfile.Path) {
		return fmt.Errorf("file name %q cannot be had in %s", name, sandbox.RunDir)
	}
	return nil
}

// writePublic writes a file that is new and that every sandbox's user can read, whatever our umask is.
func writePublic(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return fmt.Errorf("write a file for the sandbox: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(0o444), file.Close()); err != nil {
		return fmt.Errorf("write %s for the sandbox: %w", filepath.Base(path), err)
	}
	return nil
}

// bindFiles shows the run directory and init, and lays our files of /etc over those of an image.
func (m *making) bindFiles(dir string) error {
	run, err := m.options.EnginePath(dir)
	if err != nil {
		return err
	}
	m.recipe.mounts = append(m.recipe.mounts, readOnlyBind(run, runfile.Dir), initMount(m.shared.initVolume))
	if m.order.spec.RootFS.Host {
		return nil // the staged /etc has them, or links to them
	}
	for _, name := range sortedKeys(userEtc(0, 0)) {
		m.recipe.mounts = append(m.recipe.mounts, readOnlyBind(filepath.Join(run, userDir, name), "/etc/"+name))
	}
	for _, name := range []string{"hostname", "hosts", "resolv.conf"} {
		m.recipe.mounts = append(m.recipe.mounts, readOnlyBind(filepath.Join(m.shared.etc, name), "/etc/"+name))
	}
	return nil
}

// runFile is what init is told.
func (m *making) runFile() runfile.File {
	spec := m.order.spec
	file := runfile.File{
		Version: runfile.Version, Nonce: m.recipe.nonce,
		Argv: spec.Process.Argv, Env: spec.Process.Env, Dir: spec.Process.Dir, Umask: spec.Process.Umask,
		Rlimits: []runfile.Rlimit{
			{Name: "core", Value: 0},
			{Name: "fsize", Value: uint64(spec.Limits.FileSize)},
			{Name: "nofile", Value: uint64(spec.Limits.OpenFiles)},
		},
		Answer: runfile.Answer{Path: spec.Answer.Path, FromStdout: spec.Answer.FromStdout, Max: spec.Answer.Max},
	}
	for i, wanted := range spec.Mounts {
		file.Mounts = append(file.Mounts, runfile.Mount{
			Path: wanted.Target, Device: m.pins[i].Dev, Inode: m.pins[i].Ino, Writable: wanted.Workspace, Hardened: m.byHandle,
		})
	}
	file.Mounts = append(file.Mounts, m.sockets...)
	return file
}
