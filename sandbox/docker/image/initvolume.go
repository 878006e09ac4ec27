package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"torno/internal/runfile"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// InitDir is the directory where the volume with init is mounted.
var InitDir = path.Dir(runfile.Init)

// InitMount returns the mount of init in a sandbox. Init comes from a volume, so the engine need not see our own disk.
func InitMount(volume string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: volume, Target: InitDir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// Init is sandbox-init on the engine.
type Init struct {
	Volume     string
	Program    []byte
	WasMissing bool // this call stored it
}

// StoreInit makes sure that the engine has init in a volume named by its content. If a crash left the volume half
// filled, StoreInit fills it again: it checks the program's size, and the program is written last. The container that
// carries init into the volume is made from image.
func (s Stock) StoreInit(ctx context.Context, image, path string) (Init, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return Init{}, fmt.Errorf("read sandbox-init (build it with make, or name it with --init): %w", err)
	}
	volume := s.Names.InitVolume(digest(program))
	if err := s.Engine.CreateVolume(ctx, volume, s.Names.Labels(names.RoleInit)); err != nil {
		return Init{}, fmt.Errorf("make the volume for sandbox-init: %w", err)
	}
	missing, err := s.fillInit(ctx, image, volume, program)
	if err != nil {
		return Init{}, fmt.Errorf("put sandbox-init into volume %s: %w", volume, err)
	}
	return Init{volume, program, missing}, nil
}

// fillInit writes the program if it is missing. It makes a container for this, which never runs.
func (s Stock) fillInit(ctx context.Context, image, volume string, program []byte) (missing bool, err error) {
	mounted := InitMount(volume)
	mounted.ReadOnly = false
	name := s.Names.Container(names.RoleInit)
	if err := s.RemoveHelper(ctx, names.RoleInit); err != nil {
		return false, err
	}
	made, err := s.Engine.Create(ctx, name, &container.Config{
		Image: image, NetworkDisabled: true, Entrypoint: []string{runfile.Init}, Labels: s.Names.Labels(names.RoleInit),
	}, &container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{mounted}})
	if err != nil {
		return false, err
	}
	defer func() {
		cleanup, cancel := local.CleanupContext(ctx)
		defer cancel()
		err = errors.Join(err, s.Engine.Remove(cleanup, made.ID))
	}()
	if stat, err := s.Engine.Stat(ctx, made.ID, runfile.Init); err == nil && stat.Size == int64(len(program)) {
		return false, nil
	}
	content, err := initTar(program)
	if err != nil {
		return false, err
	}
	if err := s.Engine.Put(ctx, made.ID, InitDir, content); err != nil {
		return false, err
	}
	stat, err := s.Engine.Stat(ctx, made.ID, runfile.Init)
	if err == nil && (stat.Size != int64(len(program)) || !stat.Mode.IsRegular()) {
		err = fmt.Errorf("it has %d bytes there and not %d", stat.Size, len(program))
	}
	return true, err
}

// initTar returns an archive of only the program. Its reader drops the program once it was read, because a connection
// remembers the reader that it last sent, and the program has some MB.
func initTar(program []byte) (io.Reader, error) {
	var head, end bytes.Buffer
	w := tar.NewWriter(&head)
	err := w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: path.Base(runfile.Init), Mode: 0o555, Size: int64(len(program)),
	})
	if err != nil {
		return nil, err
	}
	if err := tar.NewWriter(&end).Close(); err != nil {
		return nil, err
	}
	const block = 512
	padding := make([]byte, (block-len(program)%block)%block)
	return io.MultiReader(&head, bytes.NewReader(program), bytes.NewReader(padding), &end), nil
}

// digest returns the name of a content.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
