package mounts

import (
	"testing"
	"time"

	"torno/sandbox"
	"torno/test/hungfs"
)

// TestARootThatHangsHoldsNobodyElse: a pin waits for its own file system, and the bases can be asked and closed meanwhile.
func TestARootThatHangsHoldsNobodyElse(t *testing.T) {
	stuck, fine := t.TempDir(), t.TempDir()
	fs := hungfs.Mount(t, stuck, "s1")
	bases, err := OpenBases([]string{stuck, fine})
	if err != nil {
		t.Fatal(err)
	}
	fs.Hang()
	waits := make(chan error, 1)
	go func() {
		_, err := bases.Pin(sandbox.Source{Base: stuck, Rel: "s1"})
		waits <- err
	}()
	within := func(what string, from <-chan error) error {
		select {
		case err := <-from:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal(what)
			return nil
		}
	}
	reached := make(chan error, 1)
	go func() { <-fs.Waits(); reached <- nil }()
	_ = within("nothing waits for the file system", reached)
	over := make(chan error, 1)
	go func() {
		pin, err := bases.Pin(sandbox.Source{Base: fine, Rel: "."})
		if err == nil {
			pin.Close()
		}
		if err == nil {
			err = bases.Close()
		}
		over <- err
	}()
	if err := within("the bases cannot be used while one of them hangs", over); err != nil {
		t.Error(err)
	}
	fs.Abort()
	if err := within("the pin still waits", waits); err == nil {
		t.Error("it was pinned")
	}
}
