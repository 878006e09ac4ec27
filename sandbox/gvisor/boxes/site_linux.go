package boxes

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/atomicfile"
	"torno/sandbox"
)

// There is no daemon that could have an id. The launcher finds its sandboxes again in its directory, so the directory
// has the id: a random one, written once into a file. The file goes wherever the sandboxes' boxes go, even to another
// path or disk.
const siteName = "site"

// keepSite returns the id of a launcher's directory, and makes one if there is none.
func keepSite(dir string) (string, error) {
	id, err := readSite(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	var random [16]byte
	rand.Read(random[:])
	// Atomic, because the id has to be on the disk before a journal can name it.
	if err := atomicfile.Write(filepath.Join(dir, siteName), []byte(hex.EncodeToString(random[:])), 0o600, atomicfile.Durable); err != nil {
		return "", fmt.Errorf("give the launcher's directory an id: %w", err)
	}
	return readSite(dir)
}

// readSite reads the id. It never replaces a damaged id with a new one, because the journal names the old one.
func readSite(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, siteName))
	if err != nil {
		return "", err
	}
	if random, err := hex.DecodeString(string(text)); err != nil || len(random) != 16 {
		return "", fmt.Errorf("%s is damaged; restore it, or remove it and give up the runs that are then stranded", filepath.Join(dir, siteName))
	}
	return string(text), nil
}

// Prove returns ErrOtherSite if a different directory lies at the launcher's path now.
func (b *Boxes) Prove() error {
	if b.site == "" {
		return nil
	}
	now, err := readSite(b.home)
	if err != nil || now != b.site {
		return errors.Join(fmt.Errorf("%s is not the directory that the launcher was opened on: %w", b.home, sandbox.ErrOtherSite), err)
	}
	return nil
}

// gone returns the error for a missing box: ErrNotFound, or ErrOtherSite if this is not our directory.
func (b *Boxes) gone() error {
	if err := b.Prove(); err != nil {
		return err
	}
	return sandbox.ErrNotFound
}

// Site returns the id of the launcher's directory, or "" if it is not known.
func (b *Boxes) Site() string { return b.site }

// Recall reads the id of the launcher's directory, if it has one. It makes nothing.
func (b *Boxes) Recall() (err error) {
	if b.site, err = readSite(b.home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
