package image

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// imageMemory bounds how long a finding about an image's name is used. After that, a moved tag is noticed.
const imageMemory = time.Minute

// Images remembers findings about the operator's images, so that a run need not ask.
type Images struct {
	stock Stock
	now   func() time.Time

	mu    sync.Mutex
	known map[string]Image
	ways  map[string]ways // by the image's id

	looking chan struct{} // has a value while a helper container looks
}

// Image is an image that the engine has.
type Image struct {
	ID      string
	Volumes []string // its VOLUMEs
	seen    time.Time
}

// NewImages returns an Images that knows no image yet.
func NewImages(stock Stock) *Images {
	return &Images{stock: stock, now: time.Now, known: map[string]Image{}, ways: map[string]ways{}, looking: make(chan struct{}, 1)}
}

// Find returns an image of the engine. If the engine lacks it, Find fetches it, if the profile allows that.
func (m *Images) Find(ctx context.Context, root sandbox.RootFS) (Image, error) {
	m.mu.Lock()
	known, ok := m.known[root.Image]
	m.mu.Unlock()
	if ok && m.now().Sub(known.seen) < imageMemory {
		return known, nil
	}
	known, err := m.look(ctx, root)
	if err != nil {
		return Image{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[root.Image] = known
	return known, nil
}

// Has reports whether the engine has an image.
func (m *Images) Has(ctx context.Context, ref string) (bool, error) {
	_, err := m.stock.Engine.InspectImage(ctx, ref)
	if engine.IsGone(err) {
		return false, nil
	}
	return err == nil, err
}

// Forget drops an image that the engine does not have any more.
func (m *Images) Forget(ref string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, ref)
}

func (m *Images) look(ctx context.Context, root sandbox.RootFS) (Image, error) {
	found, err := m.stock.Engine.InspectImage(ctx, root.Image)
	if engine.IsGone(err) {
		if !root.Pull {
			return Image{}, fmt.Errorf("the engine has no image %s; pull it, or let the profile do so with pull: true", root.Image)
		}
		if err := m.stock.Engine.PullImage(ctx, root.Image); err != nil {
			return Image{}, fmt.Errorf("pull image %s: %w", root.Image, err)
		}
		found, err = m.stock.Engine.InspectImage(ctx, root.Image)
	}
	if err != nil {
		return Image{}, fmt.Errorf("look at image %s: %w", root.Image, err)
	}
	known := Image{ID: found.ID, seen: m.now()}
	if found.Config != nil {
		known.Volumes = slices.Sorted(maps.Keys(found.Config.Volumes))
	}
	return known, nil
}
