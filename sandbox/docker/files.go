package docker

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/hostroot"
	"torno/internal/runfile"
	"torno/sandbox"
)

// writeFiles fills the slot's run directory, which belongs to the host, and binds it with what else the host gives.
func (m *making) writeFiles(context.Context) error {
	dir := m.slot.RunDir()
	if err := hostroot.MakeDir(filepath.Join(dir, hostroot.UserDir)); err != nil {
		return err
	}
	for name, content := range hostroot.UserEtc(m.recipe.uid, m.recipe.gid) {
		if err := hostroot.WriteFile(filepath.Join(dir, hostroot.UserDir, name), []byte(content)); err != nil {
			return err
		}
	}
	for _, file := range m.order.spec.Files {
		if err := checkFileName(file.Name); err != nil {
			return err
		}
		if err := hostroot.WriteFile(filepath.Join(dir, file.Name), file.Content); err != nil {
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
	if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." || name == hostroot.UserDir || name == filepath.Base(runfile.Path) {
		return fmt.Errorf("file name %q cannot be had in %s", name, sandbox.RunDir)
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
	for _, name := range slices.Sorted(maps.Keys(hostroot.UserEtc(0, 0))) {
		m.recipe.mounts = append(m.recipe.mounts, readOnlyBind(filepath.Join(run, hostroot.UserDir, name), "/etc/"+name))
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
