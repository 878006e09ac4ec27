package engine

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// RanOutOfMemory reports whether the engine tells, before ctx ends, that memory ended something in the container.
func (c *Client) RanOutOfMemory(ctx context.Context, id string, since time.Time) bool {
	defer c.timed("events")()
	told, failed := c.api.Events(ctx, events.ListOptions{
		Since: strconv.FormatInt(since.Unix(), 10),
		Filters: filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)),
			filters.Arg("container", id), filters.Arg("event", string(events.ActionOOM))),
	})
	select {
	case <-told:
		return true
	case err := <-failed:
		return err == nil // never nil: ctx ended, or the engine cannot tell
	}
}

// RemembersCreating reports whether the engine remembers that it made a container. It forgets this when it dies, and
// after a few hundred other events.
func (c *Client) RemembersCreating(ctx context.Context, id string, made time.Time) (bool, error) {
	defer c.timed("events")()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := time.Now()
	told, failed := c.api.Events(ctx, events.ListOptions{
		Since: strconv.FormatInt(made.Unix()-1, 10), Until: fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()),
		Filters: filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)),
			filters.Arg("container", id), filters.Arg("event", string(events.ActionCreate))),
	})
	select {
	case <-told:
		return true, nil
	case err := <-failed:
		return false, Ignore(err, io.EOF)
	}
}
