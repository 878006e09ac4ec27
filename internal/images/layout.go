package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// layout is an OCI image layout.
type layout struct {
	files
	tag    string
	digest v1.Hash
}

const refName = "org.opencontainers.image.ref.name"

func (l *layout) parts(ctx context.Context) (parts, error) {
	raw, err := small(l.files, "index.json")
	if err != nil {
		return parts{}, notLayout(err)
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return parts{}, because(err, Malformed, "its index.json cannot be read")
	}
	digest, err := l.pick(index.Manifests)
	if err != nil {
		return parts{}, err
	}
	if raw, err = l.manifest(ctx, digest); err != nil {
		return parts{}, err
	}
	return choose(ctx, l, digest, raw)
}

func notLayout(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := problem(Malformed, "it holds no index.json, so it is not an OCI layout")
	e.Next = "name a plain root filesystem as dir:/path, and an image from docker save as archive:/path"
	return e
}

// pick returns the digest of the manifest that the reference means. A digest in the reference need not be in the index.
func (l *layout) pick(all []v1.Descriptor) (v1.Hash, error) {
	if l.digest != (v1.Hash{}) {
		return l.digest, nil
	}
	if l.tag == "" && len(all) == 1 {
		return all[0].Digest, nil
	}
	var names []string
	for _, desc := range all {
		tag := desc.Annotations[refName]
		if l.tag != "" && tag == l.tag {
			return desc.Digest, nil
		}
		names = append(names, quoted(tag))
	}
	e := problem(NotFound, "it holds no image with this name")
	if l.tag == "" {
		e = problem(NotFound, "it holds %d images, and the reference does not say which", len(all))
	}
	e.Next = fmt.Sprintf("choose one of [%s]", strings.Join(names[:min(len(names), 10)], " "))
	return v1.Hash{}, e
}

func (l *layout) manifest(_ context.Context, digest v1.Hash) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, err
	}
	raw, err := small(l.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem(NotFound, "the manifest %s is not in it", digest)
	}
	if err != nil {
		return nil, err
	}
	return raw, checkDigest("manifest", digest, raw)
}

func (l *layout) open(_ context.Context, b blob) (io.ReadCloser, error) {
	name := b.name
	if name == "" {
		var err error
		if name, err = blobName(b.digest); err != nil {
			return nil, err
		}
	}
	r, _, err := l.files.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem(Mismatch, "its part %s is missing", quoted(name))
	}
	return r, err
}

// blobName returns where the layout keeps the blob with this digest. It accepts only a well-formed sha256 digest.
func blobName(digest v1.Hash) (string, error) {
	if digest.Algorithm != "sha256" || len(digest.Hex) != 64 || strings.Trim(digest.Hex, "0123456789abcdef") != "" {
		return "", problem(Malformed, "%s is not a sha256 digest", quoted(digest.String()))
	}
	return "blobs/sha256/" + digest.Hex, nil
}

// fromFile opens the layout or the archive at a path of the operator.
func (c *Cache) fromFile(ref Ref) (source, error) {
	place, info, err := c.openLocal(ref.path)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	if ref.kind == fromLayout {
		held, err := openFolder(place)
		if err != nil {
			return nil, err
		}
		return &layout{files: held, tag: ref.tag, digest: ref.digest}, nil
	}
	held, err := openArchive(place, info)
	if err != nil {
		return nil, err
	}
	l := &layout{files: held}
	if slices.ContainsFunc([]string{"index.json", "oci-layout"}, func(name string) bool { _, ok := held.members[name]; return !ok }) {
		return &saved{layout: l}, nil
	}
	return l, nil
}
