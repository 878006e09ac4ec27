package engine

import (
	"context"

	"github.com/docker/docker/api/types/container"
)

// RemoveAndWait removes a container, and returns when it is gone, also where somebody else is removing it. Where there is none, that is
// an error: see IsGone.
func (c *Client) RemoveAndWait(ctx context.Context, id string) error {
	err := c.Remove(ctx, id)
	if IsConflict(err) {
		_, err = c.Wait(ctx, id, container.WaitConditionRemoved)
	}
	return err
}

// EnsureRemoved is RemoveAndWait for a caller that does not mind whether there was a container.
func (c *Client) EnsureRemoved(ctx context.Context, id string) error {
	if err := c.RemoveAndWait(ctx, id); !IsGone(err) {
		return err
	}
	return nil
}
