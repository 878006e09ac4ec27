//go:build linux

package initproc

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

// whole is the file beside the answer that takes all of a standard output that is longer than an answer may be. Init
// makes it when the output passes the limit, so most runs have none. The run's own limits bound it: the largest file,
// the workspace, the disk. If one of them stops it, the agent and its output go on.
//
// If a run is killed, the file stays as far as it was written, under its own name, where a person finds it.
type whole struct {
	answer *answer
	room   int64 // bytes that the answer itself needs on the same disk
	made   bool
	fd     int
	err    error // why the file does not hold everything
}

// diskBlock is the largest piece of space that a file system gives out at once, in bytes.
const diskBlock = 64 << 10

// begin makes the file, with the bytes that are already kept.
func (w *whole) begin(chunks [][]byte) {
	if w.fd, w.err = w.create(); w.err != nil {
		return
	}
	w.made = true
	for _, chunk := range chunks {
		w.add(chunk)
	}
}

// create opens a file that did not exist. The name is ours, but the agent may have put anything there. create removes
// that entry, and touches nothing that it leads to.
func (w *whole) create() (int, error) {
	dir, err := openDir(w.answer.root, w.answer.dir, true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	if err := unix.Unlinkat(dir, w.name(), 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return -1, err
	}
	return unix.Openat(dir, w.name(), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
}

// add appends to the file, unless an earlier write failed. If a write fails, add shortens the file. Otherwise a full
// disk would have no room for the answer itself.
func (w *whole) add(p []byte) {
	if w.err != nil {
		return
	}
	if w.err = pipes.WriteAll(w.fd, p); w.err == nil {
		return
	}
	if err := unix.Ftruncate(w.fd, max(0, w.size()-w.room-diskBlock)); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

// describe says where all of the output is, or how much of it.
func (w *whole) describe() string {
	path := w.answer.path + runfile.WholeSuffix
	switch {
	case !w.made:
		return fmt.Sprintf("the rest is lost: %q was not written: %v", path, w.err)
	case w.err != nil:
		return fmt.Sprintf("only the first %d bytes of the output are in %q: %v", w.size(), path, w.err)
	}
	return fmt.Sprintf("all %d bytes of the output are in %q", w.size(), path)
}

// drop removes the file: the answer is another one, and this file is not the whole of it.
func (w *whole) drop() (says []string) {
	if !w.made {
		return nil
	}
	dir, err := openDir(w.answer.root, w.answer.dir, false)
	if err == nil {
		err = unix.Unlinkat(dir, w.name(), 0)
		unix.Close(dir)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		says = append(says, fmt.Sprintf("%q is not the answer, but cannot be removed: %v", w.answer.path+runfile.WholeSuffix, err))
	}
	return says
}

func (w *whole) name() string { return w.answer.name + runfile.WholeSuffix }

func (w *whole) size() int64 {
	var stat unix.Stat_t
	if err := unix.Fstat(w.fd, &stat); err != nil {
		return 0
	}
	return stat.Size
}
