package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"torno/configs"
	"torno/internal/doctor"
	"torno/sandbox/docker"
)

// UnreachableError says that nobody answers at an engine's socket.
type UnreachableError struct {
	Socket string
	Err    error
}

func (e *UnreachableError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("the Docker engine cannot be reached: there is no socket at %s", e.Socket)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("the Docker engine cannot be reached: this user may not use %s", e.Socket)
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return fmt.Sprintf("the Docker engine cannot be reached: nobody listens at %s", e.Socket)
	}
	return fmt.Sprintf("the Docker engine cannot be reached at %s: %v", e.Socket, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// reachTime bounds how long an engine may take to pick up.
const reachTime = 5 * time.Second

func reachDocker(ctx context.Context, c configs.Config) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.EngineSocket())
	if err != nil {
		return &UnreachableError{c.EngineSocket(), err}
	}
	return conn.Close()
}

func openDocker(ctx context.Context, s Setting) (Launcher, error) {
	return docker.New(ctx, docker.Options{
		Installation: s.Installation, Host: s.Config.Docker.Host, Runtime: s.Config.Docker.Runtime, StateDir: s.StateDir, InitPath: s.Init, Bases: s.Bases,
		UIDs:   docker.UIDRange{First: uint32(s.Config.UIDs.First), Count: int(s.Config.UIDs.Count)},
		Mounts: docker.MountMode(s.Config.Mounts), Log: s.Log,
		Observe: func(op string, took time.Duration) { s.Log.Debug("engine call", "op", op, "took", took) },
	})
}

// tellTime bounds how long an engine may take to tell about itself.
const tellTime = 10 * time.Second

func aboutDocker(ctx context.Context, c configs.Config) (doctor.Engine, error) {
	if err := reachDocker(ctx, c); err != nil {
		return doctor.Engine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	return docker.About(ctx, "unix://"+c.EngineSocket(), c.Docker.Runtime)
}

func leftInDocker(ctx context.Context, c configs.Config) ([]doctor.Leftover, error) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	return docker.Installations(ctx, "unix://"+c.EngineSocket())
}

func purgeDocker(ctx context.Context, s Setting) error {
	if err := reachDocker(ctx, s.Config); err != nil {
		return err
	}
	return docker.Purge(ctx, docker.Options{
		Installation: s.Installation, Host: "unix://" + s.Config.EngineSocket(), StateDir: s.StateDir,
	})
}
