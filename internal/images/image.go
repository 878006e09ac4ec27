package images

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is a root filesystem that is held until Release.
type Image struct {
	Dir       string // the root directory; nobody may change what is in it
	Digest    string // of its configuration, which pins all that is in it; empty for a directory of the operator's
	Reference string // what it was by its digest, for a registry; elsewhere as it was given
	Env       []string
	Volumes   []string // where the image wants room to write: absolute paths in it, which may lead over links
	Skipped   int64    // devices, FIFOs and sockets that were left out

	pin *os.File
}

// Pin is the open file whose lock holds the image, for a process that outlives this one. It is nil for a directory of the
// operator's, and of no use after Release.
func (i *Image) Pin() *os.File { return i.pin }

// Release lets the image go. It may be called more than once.
func (i *Image) Release() error {
	if i.pin == nil {
		return nil
	}
	err := i.pin.Close()
	i.pin = nil
	return err
}

// record is what lies beside the tree of an image.
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

// recordOf takes what is of use from a configuration that a stranger wrote.
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

// load finds an image in its directory and holds it. The cache is locked.
func load(dir string) (*Image, error) {
	raw, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the record of %s is damaged: %w", dir, err)
	}
	used := filepath.Join(dir, pinName)
	pin, err := hold(used, false)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := os.Chtimes(used, now, now); err != nil {
		pin.Close()
		return nil, err
	}
	return r.image(dir, pin), nil
}

func (r record) image(dir string, pin *os.File) *Image {
	return &Image{Dir: filepath.Join(dir, treeName), Digest: r.Config, Env: r.Env, Volumes: r.Volumes, Skipped: r.Skipped, pin: pin}
}
