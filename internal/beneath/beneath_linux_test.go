package beneath

import (
	"errors"
	"os"
	"testing"
	"time"

	"torno/test/swap"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/wait"
)

// TestAStepWaitsForNoFIFO: who may write in a directory puts a FIFO into the place of another one, over and over. A look never waits for
// somebody who writes to it.
func TestAStepWaitsForNoFIFO(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at, fifo := dir+"/at", dir+"/fifo"
	if err := errors.Join(os.Mkdir(at, 0o755), unix.Mkfifo(fifo, 0o644)); err != nil {
		t.Fatal(err)
	}
	stop, looked := swap.Names(t, [2]string{at, fifo}), make(chan struct{})
	go func() {
		defer close(looked)
		for range 5000 {
			if next, err := Step(root, "at"); err == nil {
				next.Close()
			}
		}
	}()
	select {
	case <-looked:
	case <-time.After(wait.Patience):
		t.Error("a look waits for a FIFO")
	}
	stop()
	for _, name := range []string{at, fifo} {
		if writer, err := os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
			defer writer.Close()
		}
	}
	<-looked
}

// Nothing but plain files in plain directories is opened, also where a link would stay inside.
func TestOnlyPlainThingsAreOpened(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, err := range []error{
		os.Mkdir(dir+"/sub", 0o755), os.WriteFile(dir+"/sub/plain", []byte("plain"), 0o644), os.Symlink("plain", dir+"/sub/link"),
		os.Symlink("sub", dir+"/inside"), os.WriteFile(dir+"/one", nil, 0o644), os.Link(dir+"/one", dir+"/two"), unix.Mkfifo(dir+"/fifo", 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, more, err := ReadFile(root, "sub/plain", 3); string(data) != "pla" || !more || err != nil {
		t.Errorf("%q, %v, %v", data, more, err)
	}
	for path, want := range map[string]error{
		"sub/link": delegation.ErrNotRegular, "inside/plain": ErrNotDirectory, "one/plain": ErrNotDirectory, "fifo": delegation.ErrNotRegular,
		"sub": delegation.ErrNotRegular, "one": delegation.ErrLinked, "none": os.ErrNotExist, "none/none": os.ErrNotExist,
	} {
		if _, _, err := ReadFile(root, path, 10); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if f, _, err := Open(root, "two", CheckRegular); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}
