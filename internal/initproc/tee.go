//go:build linux

package initproc

import (
	"errors"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

const teeBuffer = 64 << 10

// tee stands between the agent's standard output and ours, and keeps a copy of the output for the answer. Until the
// agent has ended, that copy is in memory, up to the answer's limit. So no disk can hold the agent up, nothing
// half-written lies in its workspace, and a run that is killed leaves no litter there. Longer output also goes into a
// file, see whole.
type tee struct {
	write int // the agent's end of the pipe
	read  int // our end; reading does not block
	end   int // readable when every process that could write is gone
	ended int // the other end of that pipe
	kept  kept
	done  chan struct{} // closed when copy has returned
}

func newTee(limit int64, a *answer) (*tee, error) {
	var data, end [2]int
	err := unix.Pipe2(data[:], unix.O_CLOEXEC)
	if err == nil {
		err = unix.Pipe2(end[:], unix.O_CLOEXEC)
	}
	if err == nil {
		err = unix.SetNonblock(data[0], true)
	}
	if err != nil {
		return nil, refuse(runfile.FailureSetup, "a pipe for the standard output: %w", err)
	}
	return &tee{
		read: data[0], write: data[1], end: end[0], ended: end[1],
		kept: kept{limit: limit, whole: &whole{answer: a, room: limit}}, done: make(chan struct{}),
	}, nil
}

// start begins to copy. The agent has its own copy of the pipe's writing end.
func (t *tee) start() {
	unix.Close(t.write)
	go func() {
		defer close(t.done)
		t.copy()
	}()
}

// finish passes on everything that was ever written, and returns the kept copy. No process that could write may be left
// in the sandbox. A writing end that was passed out of the sandbox through a socket delays nothing.
func (t *tee) finish() kept {
	unix.Close(t.ended)
	<-t.done
	return t.kept
}

func (t *tee) copy() {
	buf := make([]byte, teeBuffer)
	deaf, last := false, false
	for {
		n, err := unix.Read(t.read, buf)
		switch {
		case n > 0:
			t.kept.add(buf[:n])
			if !deaf { // the reader may be gone; the answer is still wanted
				deaf = pipes.WriteAll(unix.Stdout, buf[:n]) != nil
			}
		case errors.Is(err, unix.EAGAIN) && !last:
			last = t.wait()
		case !errors.Is(err, unix.EINTR):
			return
		}
	}
}

// wait waits for data, and reports whether the pipe now holds all that will come.
func (t *tee) wait() bool {
	fds := []unix.PollFd{{Fd: int32(t.read), Events: unix.POLLIN}, {Fd: int32(t.end), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, -1)
	return err == nil && n > 0 && fds[1].Revents != 0
}

// kept is a stream. Its beginning, up to limit bytes, is in memory. Once the stream is longer, all of it is in a file.
type kept struct {
	limit  int64
	size   int64
	chunks [][]byte // each full, except the last one
	cut    bool     // the stream is longer than limit
	whole  *whole
}

func (k *kept) add(p []byte) {
	room := min(k.limit-k.size, int64(len(p)))
	k.remember(p[:room])
	rest := p[room:]
	if len(rest) == 0 {
		return
	}
	if !k.cut {
		k.cut = true
		k.whole.begin(k.chunks)
	}
	k.whole.add(rest)
}

// remember keeps a part of the stream's beginning.
func (k *kept) remember(p []byte) {
	k.size += int64(len(p))
	for len(p) > 0 {
		last := len(k.chunks) - 1
		if last < 0 || len(k.chunks[last]) == cap(k.chunks[last]) {
			k.chunks = append(k.chunks, make([]byte, 0, teeBuffer))
			last++
		}
		chunk := k.chunks[last]
		n := min(len(p), cap(chunk)-len(chunk))
		k.chunks[last] = append(chunk, p[:n]...)
		p = p[n:]
	}
}
