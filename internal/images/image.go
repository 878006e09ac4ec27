package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"torno/internal/flock"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is a root filesystem that is held until Close.
type Image struct {
	Dir       string // the root directory; its content must not be changed
	Digest    string // of its configuration, which pins the whole content; empty for a directory of the operator
	Reference string // with the digest, for an image from a registry; otherwise as it was given
	Env       []string
	Volumes   []string // where the image wants room to write: absolute paths within it, which may lead over links
	Skipped   int64    // devices, FIFOs and sockets that were left out

	pin, root *os.File
}

// Pin returns the open file whose lock holds the image. A process that outlives this one can inherit it. Pin returns
// nil for a directory of the operator. The file is of no use after Close.
func (i *Image) Pin() *os.File { return i.pin }

// Root returns the open root directory. It stays the directory that was found, even if something else lies at Dir
// later. It is of no use after Close.
func (i *Image) Root() *os.File { return i.root }

// Close unlocks the image; then the cache may remove it. Close may be called more than once.
func (i *Image) Close() error {
	var errs []error
	for _, held := range []**os.File{&i.pin, &i.root} {
		if *held != nil {
			errs = append(errs, (*held).Close())
			*held = nil
		}
	}
	return errors.Join(errs...)
}

// record is the content of the file beside the tree of an image.
type record struct {
	Config  string   `json:"config"`
	Env     []string `json:"env"`
	Volumes []string `json:"volumes"`
	facts
}

// The names in the directory of an image.
const (
	treeName   = "root"
	recordName = "image.json"
	pinName    = "used"
)

// recordOf takes the useful parts from a configuration that a stranger wrote.
func recordOf(config *v1.ConfigFile, digest v1.Hash, found facts) record {
	r := record{Config: digest.String(), facts: found}
	for _, pair := range config.Config.Env {
		if i := strings.IndexByte(pair, '='); i > 0 && !strings.Contains(pair, "\x00") {
			r.Env = append(r.Env, pair)
		}
	}
	for at := range config.Config.Volumes {
		if at = path.Clean("/" + at); at != "/" && !strings.Contains(at, "\x00") {
			r.Volumes = append(r.Volumes, at)
		}
	}
	slices.Sort(r.Volumes)
	r.Volumes = slices.Compact(r.Volumes)
	return r
}

func (r record) write(dir string) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordName), raw, 0o600)
}

// errDamaged means that an image in the cache is not whole.
var errDamaged = errors.New("it is damaged in the cache")

// load finds an image in its directory and holds it. The caller has locked the cache. errDamaged means that the image
// is unusable; any other error says nothing about the image.
func load(dir string) (*Image, error) {
	raw, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: the record of %s: %w", errDamaged, dir, err)
	}
	root, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	used := filepath.Join(dir, pinName)
	pin, err := lockFile(used, flock.TryShared)
	if err != nil {
		root.Close()
		return nil, err
	}
	image := r.image(dir, pin, root)
	now := time.Now()
	if err := os.Chtimes(used, now, now); err != nil {
		return nil, errors.Join(err, image.Close())
	}
	return image, nil
}

// openTree opens the root directory of an image. The directory around it belongs to us alone.
func openTree(dir string) (*os.File, error) {
	root, err := os.OpenFile(filepath.Join(dir, treeName), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	for _, gone := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(err, gone) {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return root, err
}

func (r record) image(dir string, pin, root *os.File) *Image {
	return &Image{
		Dir: filepath.Join(dir, treeName), Digest: r.Config, Env: r.Env, Volumes: r.Volumes, Skipped: r.Skipped, pin: pin, root: root,
	}
}
