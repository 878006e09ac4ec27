package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options configure a cache. Only Dir is required.
type Options struct {
	Dir    string // mode 0700, owned by this user; Open makes it if it is missing
	Limits Limits

	// Progress hears how many packed bytes of an image were fetched, and how many there are. One goroutine for each
	// image calls it, at most once for each MiB and at the end. It must not block.
	Progress func(image string, done, total int64)

	// Apart returns an error for a directory or file of the operator that a request could reach, under any name.
	// Without Apart nothing is refused.
	Apart func(held *os.File) error

	// Floor is the space that unpacking must leave free.
	Floor Floor

	// Deadline bounds the time until an image is ready: an hour by default.
	Deadline time.Duration

	// Patience bounds how long a registry may send next to nothing: 30 seconds by default.
	Patience time.Duration

	// Transport carries requests to registries. The default uses the environment's proxy.
	Transport http.RoundTripper
}

// Cache unpacks each image once. It is safe for concurrent use, and other processes may use its directory too.
type Cache struct {
	store   store
	options Options

	mu      sync.Mutex // guards flights
	flights map[flightKey]*flight
}

// Open takes the cache directory, or makes it, and removes what processes that died have left in it.
func Open(ctx context.Context, options Options) (*Cache, error) {
	s, err := openStore(options.Dir)
	if err != nil {
		return nil, err
	}
	options.Limits = options.Limits.withDefaults()
	if options.Patience <= 0 {
		options.Patience = defaultPatience
	}
	if options.Deadline <= 0 {
		options.Deadline = defaultDeadline
	}
	if options.Progress == nil {
		options.Progress = func(string, int64, int64) {}
	}
	if err := s.sweepLocked(ctx); err != nil {
		return nil, fmt.Errorf("sweep the image cache: %w", err)
	}
	return &Cache{store: s, options: options, flights: map[flightKey]*flight{}}, nil
}

// Get finds an image, or fetches and unpacks it, and locks it for the caller. Callers that want the same image share
// one download; each has its own lock and its own ctx.
func (c *Cache) Get(ctx context.Context, ref Ref) (*Image, error) {
	image, err := c.get(ctx, ref)
	if err == nil {
		return image, nil
	}
	if e, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil {
		named := *e // a copy, because all callers of the flight share its error
		named.Image = ref.text
		return nil, &named
	}
	return nil, fmt.Errorf("image %s: %w", ref.text, err)
}

func (c *Cache) get(ctx context.Context, ref Ref) (*Image, error) {
	if ref.kind == fromDir {
		return c.directoryImage(ref)
	}
	if !ref.Pinned() && !ref.pull {
		e := problem(Unpinned, "the tag may point to another image at any time")
		e.Next = "write name@sha256:…, or allow this image to be pulled by its tag"
		return nil, e
	}
	f := c.board(ctx, ref)
	defer c.giveUp(ref, f)
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-f.done:
	}
	if f.err != nil {
		return nil, f.err
	}
	image, err := c.Use(ctx, f.image.Digest)
	if err != nil {
		return nil, err
	}
	image.Reference = f.image.Reference
	return image, nil
}

// Use finds an image in the cache by its Digest and holds it, for a sandbox that is still there after a restart.
func (c *Cache) Use(ctx context.Context, digest string) (*Image, error) {
	hash, err := v1.NewHash(digest)
	if err != nil {
		return nil, badRef(digest, "not the digest of an image")
	}
	image, err := c.store.use(ctx, hash.Hex)
	if err == nil && image == nil {
		err = &Error{Code: NotFound, Image: digest, What: "it is not in the cache", Next: next[NotFound]}
	}
	return image, err
}
