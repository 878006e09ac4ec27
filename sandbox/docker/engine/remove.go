package engine

import (
	"context"

	"github.com/docker/docker/api/types/container"
)

// RemoveAndWait removes a container, and returns when it is gone, also where somebody else is removing it. Where there is none, that is
// an error: see IsGone.
func (c *Client) RemoveAndWait(ctx context.Context, id string) error {
	err := c.Remove(ctx, id)
	if err != nil && !IsConflict(err) && !IsGone(err) && !c.runs(ctx, id) {
		err = c.Remove(ctx, id) // it ended just when the engine was about to kill it, which the engine calls an error
	}
	if IsConflict(err) {
		_, err = c.Wait(ctx, id, container.WaitConditionRemoved)
	}
	return err
}

// runs says whether a container runs, as far as the engine says.
func (c *Client) runs(ctx context.Context, id string) bool {
	found, err := c.Inspect(ctx, id)
	return err != nil || found.State == nil || found.State.Running
}

// EnsureRemoved is RemoveAndWait for a caller that does not mind whether there was a container.
func (c *Client) EnsureRemoved(ctx context.Context, id string) error {
	if err := c.RemoveAndWait(ctx, id); !IsGone(err) {
		return err
	}
	return nil
}
