package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"torno/internal/runfile"
	"torno/sandbox/local"
)

// initDir is where the volume with init is mounted.
var initDir = path.Dir(runfile.Init)

// initMount is init in a sandbox. It comes from a volume, so that the engine need not see our own disk.
func initMount(volume string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: volume, Target: initDir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// storeInit sees to it that the engine has init in a volume named by its content, and returns the volume's name, the program,
// and whether it was not there.
// A volume that a crash left half-filled is made anew: the program in it must have the right size, and it is written last.
func storeInit(ctx context.Context, e *engine, n naming, image, path string) (volume string, program []byte, missing bool, err error) {
	program, err = os.ReadFile(path)
	if err != nil {
		return "", nil, false, fmt.Errorf("read sandbox-init (build it with make, or name it with --init): %w", err)
	}
	volume = n.initVolume(digest(program))
	if err := e.createVolume(ctx, volume, n.labels(roleInit)); err != nil {
		return "", nil, false, fmt.Errorf("make the volume for sandbox-init: %w", err)
	}
	if missing, err = fillInit(ctx, e, n, image, volume, program); err != nil {
		return "", nil, false, fmt.Errorf("put sandbox-init into volume %s: %w", volume, err)
	}
	return volume, program, missing, nil
}

// fillInit writes the program, if it is missing, through a container that is made for this and never runs.
func fillInit(ctx context.Context, e *engine, n naming, image, volume string, program []byte) (missing bool, err error) {
	mounted := initMount(volume)
	mounted.ReadOnly = false
	name := n.container(roleInit)
	if err := e.removeHelper(ctx, n, roleInit); err != nil {
		return false, err
	}
	made, err := e.create(ctx, name, &container.Config{
		Image: image, NetworkDisabled: true, Entrypoint: []string{runfile.Init}, Labels: n.labels(roleInit),
	}, &container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{mounted}})
	if err != nil {
		return false, err
	}
	defer func() {
		cleanup, cancel := local.CleanupContext(ctx)
		defer cancel()
		err = errors.Join(err, e.remove(cleanup, made.ID))
	}()
	if stat, err := e.stat(ctx, made.ID, runfile.Init); err == nil && stat.Size == int64(len(program)) {
		return false, nil
	}
	content, err := initTar(program)
	if err != nil {
		return false, err
	}
	if err := e.put(ctx, made.ID, initDir, bytes.NewReader(content)); err != nil {
		return false, err
	}
	stat, err := e.stat(ctx, made.ID, runfile.Init)
	if err == nil && (stat.Size != int64(len(program)) || !stat.Mode.IsRegular()) {
		err = fmt.Errorf("it has %d bytes there and not %d", stat.Size, len(program))
	}
	return true, err
}

func initTar(program []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: path.Base(runfile.Init), Mode: 0o555, Size: int64(len(program)),
	})
	if err == nil {
		_, err = w.Write(program)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
