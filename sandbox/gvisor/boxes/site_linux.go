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

// There is no daemon that could have an id. What a launcher finds again is what lies in its directory, so the directory has one: a
// random one in a file, written once. It goes where the sandboxes' boxes go, also to another path or disk.
const siteName = "site"

// keepSite is the id of a launcher's directory, which gets one where it has none.
func keepSite(dir string) (string, error) {
	id, err := readSite(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	var random [16]byte
	rand.Read(random[:])
	// The id is on the disk before a journal can name it.
	if err := atomicfile.Write(filepath.Join(dir, siteName), []byte(hex.EncodeToString(random[:])), 0o600); err != nil {
		return "", fmt.Errorf("give the launcher's directory an id: %w", err)
	}
	return readSite(dir)
}

// readSite reads the id. A damaged id is no reason for a new one: the journal names the old one.
func readSite(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, siteName))
	if err != nil {
		return "", err
	}
	if random, err := hex.DecodeString(string(text)); err != nil || len(random) != 16 {
		return "", fmt.Errorf("%s is damaged; bring it back, or remove it and give up the runs that are stranded then", filepath.Join(dir, siteName))
	}
	return string(text), nil
}

// Prove is ErrOtherSite where another directory lies at the launcher's path by now.
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

// gone is what it means that a box is not there.
func (b *Boxes) gone() error {
	if err := b.Prove(); err != nil {
		return err
	}
	return sandbox.ErrNotFound
}

// Site is the id of the launcher's directory; "" where it is not known.
func (b *Boxes) Site() string { return b.site }

// Recall takes the id of the launcher's directory from there, where it has one, and makes nothing.
func (b *Boxes) Recall() (err error) {
	if b.site, err = readSite(b.home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
