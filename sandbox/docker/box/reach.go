package box

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// Reach connects boxes to their containers. All boxes of a launcher share one. It is safe for concurrent use.
type Reach struct {
	Engine   *engine.Client
	Identity *engine.Identity
	Names    names.Naming
	Log      *slog.Logger
	UIDs     local.UIDRange  // the sandboxes' users
	Life     context.Context // ends when the launcher is closed, and then cuts off every start
	// Restore brings back the parts that all sandboxes share, and reports whether init was missing.
	Restore func(context.Context) (missing bool, err error)

	attached local.Attached
}

// Close ends all attachments.
func (r *Reach) Close() { r.attached.Close() }

// Look inspects a container, and makes sure that it is a sandbox of this installation (I14).
func (r *Reach) Look(ctx context.Context, h sandbox.Handle) (container.InspectResponse, error) {
	found, err := r.Engine.Inspect(ctx, h.ID)
	if err != nil {
		return found, r.Identity.Wrap(err, "look at", h)
	}
	if found.Config == nil || !r.Names.IsSandbox(found.Config.Labels) {
		return found, fmt.Errorf("container %s is not this installation's: %w", h.ID, sandbox.ErrNotFound)
	}
	return found, nil
}
