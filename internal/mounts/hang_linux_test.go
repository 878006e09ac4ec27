package mounts

import (
	"errors"
	"os"
	"testing"
	"time"

	"torno/sandbox"
	"torno/test/hungfs"
	"torno/test/wait"
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
	waitsFor(t, fs)
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
	if err := within(t, "the bases cannot be used while one of them hangs", over); err != nil {
		t.Error(err)
	}
	if _, err := bases.Pin(sandbox.Source{Base: fine, Rel: "."}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a source was pinned beneath closed bases: %v", err)
	}
	fs.Abort()
	if err := within(t, "the pin still waits", waits); err == nil {
		t.Error("it was pinned")
	}
}

// TestAClimbThatHangsHoldsNobodyElse: what lies above a source is looked for beneath other bases, which may hang. Meanwhile a place can
// be kept, other sources be pinned, and the bases be closed; what hangs then ends without an answer.
func TestAClimbThatHangsHoldsNobodyElse(t *testing.T) {
	m := newMachine(t)
	stuck := m.at("stuck")
	m.ok(os.Mkdir(stuck, 0o755))
	hung := hungfs.Mount(t, stuck, "s1")
	m.bind("stuck/s1", "names/s1")
	m.ok(os.MkdirAll(m.at("fine/held"), 0o755))
	b := m.open("stuck", "names/s1", "fine")
	pin, err := b.Pin(sandbox.Source{Base: m.at("names/s1"), Rel: "."})
	m.ok(err)
	defer pin.Close()
	root, err := directoryOf(int(pin.file.Fd()))
	m.ok(err)
	t.Cleanup(hung.Abort) // before the bases are closed
	hung.Hang()
	climbs, asks, over := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.beyond(m.at("names/s1"), root)
		climbs <- err
	}()
	waitsFor(t, hung)
	info, err := os.Stat(m.at("fine"))
	m.ok(err)
	go func() {
		b.Is(stuck, info)
		asks <- nil
	}()
	waitsFor(t, hung)
	go func() {
		err := b.Withhold(Withheld{Path: m.at("fine/held"), What: "the state"})
		if _, pinned := b.Pin(sandbox.Source{Base: m.at("fine"), Rel: "held"}); pinned == nil {
			err = errors.Join(err, errors.New("a withheld place was pinned"))
		}
		over <- err
	}()
	if err := within(t, "the bases cannot be used while one of them hangs", over); err != nil {
		t.Error(err)
	}
	hung.Abort()
	if err := within(t, "the climb still waits", climbs); err == nil {
		t.Error("what hung was found")
	}
	_ = within(t, "the question still waits", asks)
}

// waitsFor returns when a call waits for a file system that hangs.
func waitsFor(t *testing.T, fs *hungfs.FS) {
	t.Helper()
	reached := make(chan error, 1)
	go func() { <-fs.Waits(); reached <- nil }()
	_ = within(t, "nothing waits for the file system", reached)
}

// within wants an answer although the file system hangs.
func within(t *testing.T, what string, from <-chan error) error {
	t.Helper()
	select {
	case err := <-from:
		return err
	case <-time.After(wait.Patience):
		t.Fatal(what)
		return nil
	}
}
