package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// minAPI is the API of Docker 20.10: the first with private cgroup namespaces and, from 1.40, with binds that are not recursive.
const minAPI = "1.41"

// engine is the engine as we use it: one method for each call, so that every call is counted and timed in one place.
type engine struct {
	api     *client.Client
	observe func(op string, took time.Duration)
}

// connect finds the engine and agrees with it on an API.
func connect(ctx context.Context, host string, observe func(string, time.Duration)) (*engine, error) {
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("set up the Docker client: %w", err)
	}
	e := &engine{api: api, observe: observe}
	if err := e.negotiate(ctx); err != nil {
		api.Close()
		return nil, err
	}
	return e, nil
}

func (e *engine) negotiate(ctx context.Context) error {
	defer e.timed("ping")()
	ping, err := e.api.Ping(ctx)
	if err != nil {
		return fmt.Errorf("reach the Docker engine at %s (is it running, and may this user talk to it?): %w", e.api.DaemonHost(), err)
	}
	e.api.NegotiateAPIVersionPing(ping)
	switch {
	case ping.OSType != "" && ping.OSType != "linux":
		return fmt.Errorf("the Docker engine at %s runs %s containers, and Linux ones are needed", e.api.DaemonHost(), ping.OSType)
	case versions.LessThan(e.api.ClientVersion(), minAPI):
		return fmt.Errorf("the Docker engine at %s speaks API %s; API %s (Docker 20.10) or newer is needed",
			e.api.DaemonHost(), e.api.ClientVersion(), minAPI)
	}
	return nil
}

// timed is used as `defer e.timed("start")()`.
func (e *engine) timed(op string) func() {
	start := time.Now()
	return func() { e.observe(op, time.Since(start)) }
}

func (e *engine) close() error { return e.api.Close() }

// hangUp closes the connections that nothing uses now. The next call makes a new one.
func (e *engine) hangUp() { _ = e.api.Close() } // closing those is all that the client's Close does

func (e *engine) info(ctx context.Context) (system.Info, error) {
	defer e.timed("info")()
	return e.api.Info(ctx)
}

func (e *engine) version(ctx context.Context) (types.Version, error) {
	defer e.timed("version")()
	return e.api.ServerVersion(ctx)
}

func (e *engine) create(ctx context.Context, name string, c *container.Config, h *container.HostConfig) (container.CreateResponse, error) {
	defer e.timed("create")()
	return e.api.ContainerCreate(ctx, c, h, nil, nil, name)
}

func (e *engine) start(ctx context.Context, id string) error {
	defer e.timed("start")()
	return e.api.ContainerStart(ctx, id, container.StartOptions{})
}

func (e *engine) attach(ctx context.Context, id string, o container.AttachOptions) (types.HijackedResponse, error) {
	defer e.timed("attach")()
	return e.api.ContainerAttach(ctx, id, o)
}

func (e *engine) logs(ctx context.Context, id string, o container.LogsOptions) (io.ReadCloser, error) {
	defer e.timed("logs")()
	return e.api.ContainerLogs(ctx, id, o)
}

// wait returns when the container does not run, which is also so before it was started.
func (e *engine) wait(ctx context.Context, id string, until container.WaitCondition) (code int, err error) {
	defer e.timed("wait")()
	done, failed := e.api.ContainerWait(ctx, id, until)
	select {
	case result := <-done:
		if result.Error != nil {
			return 0, errors.New(result.Error.Message)
		}
		return int(result.StatusCode), nil
	case err := <-failed:
		return 0, err
	}
}

func (e *engine) inspect(ctx context.Context, id string) (container.InspectResponse, error) {
	defer e.timed("inspect")()
	return e.api.ContainerInspect(ctx, id)
}

// ranOutOfMemory says whether the engine tells that memory ended something in the container, before the context ends.
func (e *engine) ranOutOfMemory(ctx context.Context, id string, since time.Time) bool {
	defer e.timed("events")()
	told, failed := e.api.Events(ctx, events.ListOptions{
		Since: strconv.FormatInt(since.Unix(), 10),
		Filters: filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)),
			filters.Arg("container", id), filters.Arg("event", string(events.ActionOOM))),
	})
	select {
	case <-told:
		return true
	case err := <-failed:
		return err == nil // it is never nil: the context ended, or the engine cannot say
	}
}

// remembersCreating says whether the engine has seen a container made: it forgets that when it dies, and after a few hundred
// other things.
func (e *engine) remembersCreating(ctx context.Context, id string, made time.Time) (bool, error) {
	defer e.timed("events")()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := time.Now()
	told, failed := e.api.Events(ctx, events.ListOptions{
		Since: strconv.FormatInt(made.Unix()-1, 10), Until: fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()),
		Filters: filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)),
			filters.Arg("container", id), filters.Arg("event", string(events.ActionCreate))),
	})
	select {
	case <-told:
		return true, nil
	case err := <-failed:
		return false, ignore(err, io.EOF)
	}
}

func (e *engine) kill(ctx context.Context, id, signal string) error {
	defer e.timed("kill")()
	return e.api.ContainerKill(ctx, id, signal)
}

func (e *engine) remove(ctx context.Context, id string) error {
	defer e.timed("remove")()
	return e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// list is all containers that have the label, running or not.
func (e *engine) list(ctx context.Context, label string) ([]container.Summary, error) {
	defer e.timed("list")()
	return e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
}

// put unpacks a tar into a container that has never run (B5: never into one that does).
func (e *engine) put(ctx context.Context, id, dir string, tar io.Reader) error {
	defer e.timed("put")()
	return e.api.CopyToContainer(ctx, id, dir, tar, container.CopyToContainerOptions{})
}

func (e *engine) stat(ctx context.Context, id, name string) (container.PathStat, error) {
	defer e.timed("stat")()
	return e.api.ContainerStatPath(ctx, id, name)
}

func (e *engine) inspectImage(ctx context.Context, ref string) (image.InspectResponse, error) {
	defer e.timed("inspect-image")()
	return e.api.ImageInspect(ctx, ref)
}

// importImage makes an image of a tar.
func (e *engine) importImage(ctx context.Context, ref string, tar io.Reader, changes ...string) error {
	defer e.timed("import-image")()
	body, err := e.api.ImageImport(ctx, image.ImportSource{Source: tar, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		return err
	}
	return drain(body)
}

func (e *engine) pullImage(ctx context.Context, ref string) error {
	defer e.timed("pull-image")()
	body, err := e.api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return err
	}
	return drain(body)
}

func (e *engine) listImages(ctx context.Context, label string) ([]image.Summary, error) {
	defer e.timed("list-images")()
	return e.api.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
}

func (e *engine) removeImage(ctx context.Context, ref string) error {
	defer e.timed("remove-image")()
	_, err := e.api.ImageRemove(ctx, ref, image.RemoveOptions{Force: true})
	return err
}

func (e *engine) createVolume(ctx context.Context, name string, labels map[string]string) error {
	defer e.timed("create-volume")()
	_, err := e.api.VolumeCreate(ctx, volume.CreateOptions{Name: name, Driver: "local", Labels: labels})
	return err
}

func (e *engine) inspectVolume(ctx context.Context, name string) (volume.Volume, error) {
	defer e.timed("inspect-volume")()
	return e.api.VolumeInspect(ctx, name)
}

func (e *engine) listVolumes(ctx context.Context, label string) ([]*volume.Volume, error) {
	defer e.timed("list-volumes")()
	all, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	return all.Volumes, err
}

// volumesNamed are those whose name begins so.
func (e *engine) volumesNamed(ctx context.Context, prefix string) (names []string, err error) {
	defer e.timed("list-volumes")()
	all, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", prefix))})
	for _, v := range all.Volumes {
		if strings.HasPrefix(v.Name, prefix) {
			names = append(names, v.Name)
		}
	}
	return names, err
}

func (e *engine) removeVolume(ctx context.Context, name string) error {
	defer e.timed("remove-volume")()
	return e.api.VolumeRemove(ctx, name, false)
}

// isGone and isConflict read the engine's typed answers.
func isGone(err error) bool     { return errdefs.IsNotFound(err) }
func isConflict(err error) bool { return errdefs.IsConflict(err) }

// ignore takes one kind of error for none.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
