package engine

import (
	"context"
	"errors"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Create makes a container with this name.
func (c *Client) Create(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (container.CreateResponse, error) {
	defer c.timed("create")()
	return c.api.ContainerCreate(ctx, config, host, nil, nil, name)
}

// Start lets process 1 of a container begin.
func (c *Client) Start(ctx context.Context, id string) error {
	defer c.timed("start")()
	return c.api.ContainerStart(ctx, id, container.StartOptions{})
}

// Attach connects to streams of a container.
func (c *Client) Attach(ctx context.Context, id string, o container.AttachOptions) (types.HijackedResponse, error) {
	defer c.timed("attach")()
	cut := &dialCut{}
	defer cut.stop()
	return c.api.ContainerAttach(context.WithValue(ctx, dialKey{}, cut), id, o)
}

// Logs reads the part of a container's output that the engine has kept.
func (c *Client) Logs(ctx context.Context, id string, o container.LogsOptions) (io.ReadCloser, error) {
	defer c.timed("logs")()
	return c.api.ContainerLogs(ctx, id, o)
}

// Wait returns when the container does not run. A container that was never started does not run either.
func (c *Client) Wait(ctx context.Context, id string, until container.WaitCondition) (code int, err error) {
	defer c.timed("wait")()
	done, failed := c.api.ContainerWait(ctx, id, until)
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

// Inspect looks at a container.
func (c *Client) Inspect(ctx context.Context, id string) (container.InspectResponse, error) {
	defer c.timed("inspect")()
	return c.api.ContainerInspect(ctx, id)
}

// Kill sends a signal to process 1 of a container.
func (c *Client) Kill(ctx context.Context, id, signal string) error {
	defer c.timed("kill")()
	return c.api.ContainerKill(ctx, id, signal)
}

// Remove removes a container, even a running one. It fails with a conflict while another process is removing the
// container.
func (c *Client) Remove(ctx context.Context, id string) error {
	defer c.timed("remove")()
	return c.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// List returns all containers with the label, running or not.
func (c *Client) List(ctx context.Context, label string) ([]container.Summary, error) {
	defer c.timed("list")()
	return c.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
}

// Put unpacks a tar into a container that has never run (B5: never into a running one).
func (c *Client) Put(ctx context.Context, id, dir string, tar io.Reader) error {
	defer c.timed("put")()
	return c.api.CopyToContainer(ctx, id, dir, tar, container.CopyToContainerOptions{})
}

// Stat looks at a name in a container.
func (c *Client) Stat(ctx context.Context, id, name string) (container.PathStat, error) {
	defer c.timed("stat")()
	return c.api.ContainerStatPath(ctx, id, name)
}
