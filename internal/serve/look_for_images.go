package serve

import (
	"context"
	"slices"

	"torno/internal/launcher"
)

// lookForImages warns about missing images before anything is served. Otherwise the first request would find out.
func (h *host) lookForImages(ctx context.Context) error {
	var said []string
	for _, p := range h.decided.Profiles {
		holder, ok := h.launchers[p.Sandbox].(launcher.ImageHolder)
		if _, _, placed := p.RootFS.Place(); !ok || placed || p.RootFS.Host || p.RootFS.Pull || slices.Contains(said, p.RootFS.Image) {
			continue
		}
		has, err := holder.HasImage(ctx, p.RootFS.Image)
		if err != nil {
			h.Log.Warn("the watcher cannot tell whether an image is there", "profile", p.Name, "image", p.RootFS.Image, "error", err)
			continue
		}
		if has {
			continue
		}
		said = append(said, p.RootFS.Image)
		h.Log.Warn("an image is missing; requests for it fail until it is there", "profile", p.Name, "image", p.RootFS.Image,
			"next", "docker pull "+p.RootFS.Image+", or pull: true in the profile (--pull with --dir)")
	}
	return nil
}
