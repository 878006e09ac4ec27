package pipes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteAllWaits writes more than a pipe holds through an end that does not block, as an agent can make of the
// standard error that it shares with init.
func TestWriteAllWaits(t *testing.T) {
	var fds [2]int
	if err := errors.Join(unix.Pipe2(fds[:], unix.O_CLOEXEC), unix.SetNonblock(fds[1], true)); err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	result := make(chan error, 1)
	go func() { result <- errors.Join(WriteAll(fds[1], sent), unix.Close(fds[1])) }()
	reader := os.NewFile(uintptr(fds[0]), "pipe")
	defer reader.Close()
	got, err := io.ReadAll(reader)
	if err := errors.Join(err, <-result); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came through, %v", len(got), err)
	}
}

func TestWriteAllTellsOfAClosedPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	read.Close()
	if err := WriteAll(int(write.Fd()), []byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Errorf("%v", err)
	}
}
