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

// RanOutOfMemory says whether the engine tells that memory ended something in the container, before the context ends.
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
		return err == nil // it is never nil: the context ended, or the engine cannot say
	}
}

// RemembersCreating says whether the engine has seen a container made: it forgets that when it dies, and after a few hundred
// other things.
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
