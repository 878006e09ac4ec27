package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// bring finds an image in the cache, or fetches and unpacks it.
func (c *Cache) bring(ctx context.Context, ref Ref) (*Image, error) {
	if ref.kind == fromRegistry && ref.Pinned() {
		if digest, ok := c.store.known(ref.digest, runtime.GOARCH); ok {
			if image, err := c.store.use(ctx, digest); image != nil || err != nil {
				return named(image, ref, ref.digest), err
			}
		}
	}
	from, err := c.source(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	p, err := from.parts(ctx)
	if err != nil {
		return nil, err
	}
	image, err := c.store.use(ctx, p.config.digest.Hex)
	if image == nil && err == nil {
		image, err = c.unpack(ctx, ref, from, p)
	}
	if err != nil {
		return nil, err
	}
	return c.settle(image, ref, from)
}

// settle remembers to which image a registry's reference led, and writes the reference into the image.
func (c *Cache) settle(image *Image, ref Ref, from source) (*Image, error) {
	registry, ok := from.(*registry)
	if !ok {
		return named(image, ref, v1.Hash{}), nil
	}
	if err := c.store.remember(registry.digest, runtime.GOARCH, short(image.Digest)); err != nil {
		return nil, errors.Join(err, image.Close())
	}
	return named(image, ref, registry.digest), nil
}

func named(image *Image, ref Ref, digest v1.Hash) *Image {
	if image != nil {
		image.Reference = ref.text
		if ref.kind == fromRegistry {
			image.Reference = ref.repo.Name() + "@" + digest.String()
		}
	}
	return image
}

func (c *Cache) source(ctx context.Context, ref Ref) (source, error) {
	if ref.kind == fromRegistry {
		return c.openRegistry(ctx, ref)
	}
	return c.fromFile(ref)
}

// unpack makes an image from its parts and publishes it in the cache.
func (c *Cache) unpack(ctx context.Context, ref Ref, from source, p parts) (*Image, error) {
	config, err := configuration(ctx, from, p)
	if err != nil {
		return nil, err
	}
	t, err := c.store.temp(ctx)
	if err != nil {
		return nil, err
	}
	space := &room{dir: t.pin, floor: c.options.Floor}
	var found facts
	if err = space.ask(); err == nil {
		found, err = c.tree(ctx, ref, from, p, config.RootFS.DiffIDs, filepath.Join(t.dir, treeName), space)
	}
	r := recordOf(config, p.config.digest, found)
	if err == nil {
		err = r.write(t.dir)
	}
	if err == nil {
		err = toDisk(t.pin)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	image, err := c.store.publish(ctx, t, r, p.config.digest.Hex)
	if err != nil {
		t.discard()
		return nil, fmt.Errorf("publish an image: %w", err)
	}
	return image, nil
}

// configuration reads the configuration, compares it with its digest, and checks that it fits this machine and the
// layers.
func configuration(ctx context.Context, from source, p parts) (*v1.ConfigFile, error) {
	raw, err := document(ctx, from, p.config)
	if err != nil {
		return nil, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, because(err, Malformed, "the configuration cannot be read")
	}
	if config.Architecture != "" && (config.OS != "linux" || config.Architecture != runtime.GOARCH) {
		return nil, problem(NoPlatform, "it is for %s/%s, and this machine is linux/%s",
			quoted(config.OS), quoted(config.Architecture), runtime.GOARCH)
	}
	if have, want := len(p.layers), len(config.RootFS.DiffIDs); have != want {
		return nil, problem(Malformed, "it has %d layers, but its configuration names %d", have, want)
	}
	for _, id := range config.RootFS.DiffIDs {
		if id.Algorithm != "sha256" {
			return nil, problem(Malformed, "its configuration names a layer without a sha256 digest")
		}
	}
	return config, nil
}

// tree unpacks all layers into a new directory.
func (c *Cache) tree(ctx context.Context, ref Ref, from source, p parts, ids []v1.Hash, dir string, space *room) (facts, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return facts{}, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		return facts{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return facts{}, err
	}
	defer root.Close()
	u := newUnpacker(root, c.options.Limits)
	u.room = space
	defer u.close()
	count := c.counter(ref, p.layers)
	for i, b := range p.layers {
		if err := u.stream(ctx, from, b, ids[i], count); err != nil {
			return facts{}, err
		}
	}
	return u.facts, nil
}

// stream unpacks a layer while it arrives. At the end it compares the layer with both digests, packed and unpacked.
func (u *unpacker) stream(ctx context.Context, from source, b blob, id v1.Hash, count func(int)) error {
	r, err := from.open(ctx, b)
	if err != nil {
		return err
	}
	defer r.Close()
	packed := verified(alive{ctx, r}, b, "layer", count)
	err = u.packed(ctx, packed, id)
	if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Code != Malformed) {
		return err
	}
	// Unpacking may have failed because the source sent wrong bytes. Then return that mismatch instead.
	if _, other := io.Copy(io.Discard, packed); other != nil {
		return other
	}
	return err
}

// packed unpacks a layer as it is stored, and compares the unpacked content with its digest.
func (u *unpacker) packed(ctx context.Context, from io.Reader, id v1.Hash) error {
	content, err := unpacked(from)
	if err != nil {
		return err
	}
	defer content.Close()
	hash := sha256.New()
	plain := io.TeeReader(&bounded{from: content, left: &u.arriving}, hash)
	if err := u.layer(ctx, plain); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return badStream(err)
	}
	if err := same("unpacked layer", id, hash); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// counter returns a function that adds up the bytes that have arrived of all layers. It tells the operator after each
// MiB and at the end.
func (c *Cache) counter(ref Ref, layers []blob) func(n int) {
	const step = 1 << 20
	var done, told, total int64
	for _, b := range layers {
		total += b.size
	}
	return func(n int) {
		done += int64(n)
		if done-told >= step || done == total {
			told = done
			c.options.Progress(ref.text, done, total)
		}
	}
}
