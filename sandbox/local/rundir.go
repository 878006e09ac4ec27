package local

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local/hostroot"
)

// Run holds everything that goes into a sandbox's run directory.
type Run struct {
	Nonce  string
	Who    mounts.Identity
	Spec   sandbox.Spec
	Mounts []runfile.Mount // the mounts that init proves
	Filter []byte          // the seccomp filter that init installs
	Doors  []runfile.Door  // sockets that init offers and passes on; all other sockets are mounts
	Shut   bool            // init keeps the agent from all other sockets in the file system
}

// Write fills the run directory, which belongs to the host and is empty.
func (r Run) Write(dir string) error {
	if err := WriteBase(dir, r.Who, r.Filter); err != nil {
		return err
	}
	return r.WriteRun(dir)
}

// WriteBase writes the files that are the same for every run in a sandbox: its user, and its filter, which init reads
// while it holds.
func WriteBase(dir string, who mounts.Identity, filter []byte) error {
	if err := runfile.ValidateFilter(filter); err != nil {
		return err
	}
	if err := hostroot.WriteFile(filepath.Join(dir, filepath.Base(runfile.FilterPath)), filter); err != nil {
		return err
	}
	if err := hostroot.MakeDir(filepath.Join(dir, hostroot.UserDir)); err != nil {
		return err
	}
	for name, content := range hostroot.UserEtc(who.UID, who.GID) {
		if err := hostroot.WriteFile(filepath.Join(dir, hostroot.UserDir, name), []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// WriteRun writes the files of the run itself. Init reads none of them before the release word, so they may be written
// while init holds.
func (r Run) WriteRun(dir string) error {
	for _, file := range r.Spec.Files {
		if err := checkFileName(file.Name); err != nil {
			return err
		}
		if err := hostroot.WriteFile(filepath.Join(dir, file.Name), file.Content); err != nil {
			return err
		}
	}
	return runfile.Write(filepath.Join(dir, filepath.Base(runfile.Path)), r.file())
}

// forwards returns the ports that lead to sockets.
func forwards(sockets []sandbox.Socket) (all []runfile.Forward) {
	for _, socket := range sockets {
		if socket.Port != 0 {
			all = append(all, runfile.Forward{Port: socket.Port, Path: socket.Target})
		}
	}
	return all
}

// ownNames are the names of our own files in the run directory.
var ownNames = []string{hostroot.UserDir, filepath.Base(runfile.Path), filepath.Base(runfile.FilterPath)}

// checkFileName refuses a file of the spec that would replace one of our own files.
func checkFileName(name string) error {
	if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." || slices.Contains(ownNames, name) {
		return fmt.Errorf("file name %q cannot be used in %s", name, sandbox.RunDir)
	}
	return nil
}

// file returns the run file, which init reads.
func (r Run) file() runfile.File {
	process, answer := r.Spec.Process, r.Spec.Answer
	file := runfile.File{
		Version: runfile.Version, Nonce: r.Nonce,
		Argv: process.Argv, Env: process.Env, Dir: process.Dir, Umask: process.Umask, Stdin: process.Stdin,
		Rlimits: []runfile.Rlimit{
			{Name: "core", Value: 0},
			{Name: "fsize", Value: uint64(r.Spec.Limits.FileSize)},
			{Name: "nofile", Value: uint64(r.Spec.Limits.OpenFiles)},
		},
		Mounts: r.Mounts, Shut: r.Shut, Doors: r.Doors, Forwards: forwards(r.Spec.Sockets),
		Answer: runfile.Answer{Path: answer.Path, FromStdout: answer.FromStdout, Max: answer.Max},
	}
	if r.Spec.Timeout > 0 {
		file.Allowed, file.Grace = r.Spec.Longest(), runfile.Grace
	}
	return file
}
