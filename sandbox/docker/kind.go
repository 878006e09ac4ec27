package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"syscall"
	"time"

	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/survey"
)

// Kind describes this launcher to the rest of the watcher.
var Kind = &launcher.Kind{
	Name: names.Launcher,
	Nature: doctor.Nature{
		Title: "Docker", Install: "start Docker", Remedy: remedy,
	},
	Keys: []launcher.Key{
		{
			Name: hostKey, Form: launcher.Address, Max: 4096, Env: "DOCKER_HOST", Default: defaultHost,
			Wrong: "is not of the form unix:///run/docker.sock; the engine has to be on this machine",
		},
		{
			Name: runtimeKey, Form: launcher.Text, Max: 128, Match: runtimeForm,
			Wrong: "is not the name of a runtime; docker info lists the engine's runtimes",
		},
	},
	Unsuited: unsuited, Reach: reach, Open: open, About: about, Left: left, Purge: purge,
}

const remedy = "start Docker, or name its socket: docker.host in the configuration, or DOCKER_HOST=unix:///…; or let gVisor launch the profiles: sandbox: gvisor"

// The keys of the configuration.
const (
	hostKey    = "host"
	runtimeKey = "runtime"
)

// defaultHost is the address where Docker listens by default.
const defaultHost = launcher.Scheme + "/var/run/docker.sock"

// runtimeForm matches the names that engines give to their runtimes.
var runtimeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

func unsuited(fs sandbox.RootFS) string {
	form, _, placed := fs.Place()
	if fs.Host || !placed {
		return ""
	}
	return fmt.Sprintf("%s: is a root file system that only gVisor can use; write sandbox: gvisor or sandbox: auto, or name an image of the engine", form)
}

// UnreachableError means that no engine answers at a socket.
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
		return fmt.Sprintf("the Docker engine cannot be reached: no program listens at %s", e.Socket)
	}
	return fmt.Sprintf("the Docker engine cannot be reached at %s: %v", e.Socket, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// reachTime bounds the wait for an engine to accept a connection.
const reachTime = 5 * time.Second

func reach(ctx context.Context, s launcher.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	socket := s.Socket(hostKey)
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return &launcher.UnusableError{
			Code: "no_engine", Said: "no Docker engine answers", Next: remedy, Absent: true, Err: &UnreachableError{socket, err},
		}
	}
	return conn.Close()
}

func open(ctx context.Context, s launcher.Setting) (launcher.Launcher, error) {
	return New(ctx, Options{
		Options: s.Options, Host: s.Settings.Text(hostKey), Runtime: s.Settings.Text(runtimeKey), Mounts: MountMode(s.Mounts),
		Observe: func(op string, took time.Duration) { s.Log.Debug("engine call", "op", op, "took", took) },
	})
}

// tellTime bounds the wait for an engine to tell about itself.
const tellTime = 10 * time.Second

func about(ctx context.Context, s launcher.Settings) (doctor.Launcher, error) {
	if err := reach(ctx, s); err != nil {
		return doctor.Launcher{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	return survey.About(ctx, s.Text(hostKey), s.Text(runtimeKey))
}

func left(ctx context.Context, s launcher.Settings) ([]doctor.Leftover, error) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	return survey.Installations(ctx, s.Text(hostKey))
}

func purge(ctx context.Context, s launcher.Setting) error {
	if err := reach(ctx, s.Settings); err != nil {
		return err
	}
	return Purge(ctx, Options{Options: s.Options, Host: s.Settings.Text(hostKey)})
}
