package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"torno/internal/beneath"
	"torno/manager/massgen/carry"
)

// An evaluator writes these files.
const (
	PacketFile  = "critique_packet.md"
	VerdictFile = "verdict.json"
	TasksFile   = "next_tasks.json"
)

const (
	maxFile    = 1 << 20
	maxEntries = 256 // per directory on the way
)

// places lists where MassGen's agents leave files. A * stands for one name.
var places = []string{"agent_*", ".massgen/sessions/*/turn_*/workspace", "final/*/workspace"}

// Bring makes sure that the three files stand at the root of a workspace. It returns an error for each file that is
// missing or wrong.
func Bring(workspace *os.Root) (faults []error) {
	for _, file := range []struct {
		name  string
		check func([]byte) error
	}{{PacketFile, packet}, {VerdictFile, Verdict}, {TasksFile, NextTasks}} {
		data, err := bring(workspace, file.name)
		if err == nil {
			err = file.check(data)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is missing", file.name)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// bring reads a file at the root. If the file is only below the root, bring copies it to the root.
func bring(workspace *os.Root, name string) ([]byte, error) {
	data, err := read(workspace, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	newest, found := "", time.Time{}
	for _, place := range places {
		for _, dir := range expand(workspace, place) {
			info, err := stat(workspace, path.Join(dir, name))
			if err == nil && (newest == "" || info.ModTime().After(found)) {
				newest, found = path.Join(dir, name), info.ModTime()
			}
		}
	}
	if newest == "" {
		return nil, fs.ErrNotExist
	}
	if data, err = read(workspace, newest); err != nil {
		return nil, err
	}
	return data, carry.Put(workspace, name, data)
}

func read(workspace *os.Root, name string) ([]byte, error) {
	data, more, err := beneath.ReadFile(workspace, filepath.FromSlash(name), maxFile)
	if err == nil && more {
		err = fmt.Errorf("%s is longer than %d bytes", path.Base(name), maxFile)
	}
	return data, err
}

func stat(workspace *os.Root, name string) (os.FileInfo, error) {
	f, info, err := beneath.OpenFile(workspace, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return info, f.Close()
}

// expand returns the directories that match a pattern. It follows no link.
func expand(workspace *os.Root, pattern string) []string {
	found := []string{"."}
	for step := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			for _, name := range names(workspace, dir, step) {
				next = append(next, path.Join(dir, name))
			}
		}
		found = next[:min(len(next), maxEntries)]
	}
	return found
}

// names returns the entries of a directory that match one step of a pattern.
func names(workspace *os.Root, dir, step string) (all []string) {
	held, err := beneath.Dir(workspace, filepath.FromSlash(dir))
	if err != nil {
		return nil
	}
	defer held.Close()
	listing, err := held.Open(".")
	if err != nil {
		return nil
	}
	defer listing.Close()
	entries, err := listing.ReadDir(maxEntries)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if fits, err := path.Match(step, entry.Name()); err == nil && fits && entry.IsDir() {
			all = append(all, entry.Name())
		}
	}
	return all
}
