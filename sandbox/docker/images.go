package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"torno/sandbox"
)

// imageMemory is how long an image that was looked at is taken for what it was. A tag that moves is noticed after that.
const imageMemory = time.Minute

// images remembers what was found out about images, so that a run need not ask.
type images struct {
	engine *engine
	now    func() time.Time

	mu    sync.Mutex
	known map[string]knownImage

	looking sync.Mutex      // for one container at a time, and for ways
	ways    map[string]ways // by the image's id
}

type knownImage struct {
	id      string
	volumes []string
	seen    time.Time
}

func newImages(e *engine) *images {
	return &images{engine: e, now: time.Now, known: map[string]knownImage{}, ways: map[string]ways{}}
}

// find returns an image that the engine has, or fetches it if it may.
func (m *images) find(ctx context.Context, root sandbox.RootFS) (knownImage, error) {
	m.mu.Lock()
	known, ok := m.known[root.Image]
	m.mu.Unlock()
	if ok && m.now().Sub(known.seen) < imageMemory {
		return known, nil
	}
	known, err := m.look(ctx, root)
	if err != nil {
		return knownImage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[root.Image] = known
	return known, nil
}

// forget is for an image that the engine turns out not to have any more.
func (m *images) forget(ref string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, ref)
}

func (m *images) look(ctx context.Context, root sandbox.RootFS) (knownImage, error) {
	found, err := m.engine.inspectImage(ctx, root.Image)
	if isGone(err) {
		if !root.Pull {
			return knownImage{}, fmt.Errorf("the engine has no image %s; pull it, or let the profile do so with pull: true", root.Image)
		}
		if err := m.engine.pullImage(ctx, root.Image); err != nil {
			return knownImage{}, fmt.Errorf("pull image %s: %w", root.Image, err)
		}
		found, err = m.engine.inspectImage(ctx, root.Image)
	}
	if err != nil {
		return knownImage{}, fmt.Errorf("look at image %s: %w", root.Image, err)
	}
	known := knownImage{id: found.ID, seen: m.now()}
	if found.Config != nil {
		known.volumes = slices.Sorted(maps.Keys(found.Config.Volumes))
	}
	return known, nil
}

// drain reads the engine's progress report to its end, which may be that it failed.
func drain(body io.ReadCloser) error {
	defer body.Close()
	decoder := json.NewDecoder(body)
	for {
		var message struct {
			Error string `json:"error"`
		}
		err := decoder.Decode(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the engine's progress: %w", err)
		case message.Error != "":
			return errors.New(strings.TrimSpace(message.Error))
		}
	}
}
