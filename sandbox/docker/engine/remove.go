package engine

import (
	"context"

	"github.com/docker/docker/api/types/container"
)

// RemoveAndWait removes a container, and returns when it is gone, even if somebody else is removing it. If there was no
// container, it returns an error: see IsGone.
func (c *Client) RemoveAndWait(ctx context.Context, id string) error {
	err := c.Remove(ctx, id)
	if err != nil && !IsConflict(err) && !IsGone(err) && !c.runs(ctx, id) {
		// The engine also reports an error if the container ended by itself just before the kill. So try again.
		err = c.Remove(ctx, id)
	}
	if IsConflict(err) {
		_, err = c.Wait(ctx, id, container.WaitConditionRemoved)
	}
	return err
}

// runs reports whether a container runs, as far as the engine tells. In doubt it does.
func (c *Client) runs(ctx context.Context, id string) bool {
	found, err := c.Inspect(ctx, id)
	return err != nil || found.State == nil || found.State.Running
}

// EnsureRemoved removes a container like RemoveAndWait, but a missing container is no error.
func (c *Client) EnsureRemoved(ctx context.Context, id string) error {
	if err := c.RemoveAndWait(ctx, id); !IsGone(err) {
		return err
	}
	return nil
}
