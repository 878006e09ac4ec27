package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// blob is a part of an image: the configuration or a layer.
type blob struct {
	name   string  // its place in an archive that docker saved; empty elsewhere, where the digest names it
	digest v1.Hash // zero for a layer that docker saved: only the digest of its unpacked content is known
	size   int64
}

// source brings the parts of one image.
type source interface {
	// parts finds the image's manifest and returns the parts that belong to it.
	parts(ctx context.Context) (parts, error)
	// open opens a part as it is stored. The caller compares it with its digest.
	open(ctx context.Context, b blob) (io.ReadCloser, error)
	Close() error
}

type parts struct {
	manifest v1.Hash // zero if there is no manifest
	config   blob
	layers   []blob
}

// documents is the half of an OCI source that reads manifests.
type documents interface {
	manifest(ctx context.Context, d v1.Hash) ([]byte, error)
}

// choose goes from a manifest or an index to the image for this machine. raw is the content that belongs to digest.
func choose(ctx context.Context, from documents, digest v1.Hash, raw []byte) (parts, error) {
	for range maxNested + 1 {
		var what struct {
			MediaType types.MediaType `json:"mediaType"`
			Manifests json.RawMessage `json:"manifests"`
		}
		if err := json.Unmarshal(raw, &what); err != nil {
			return parts{}, because(err, Malformed, "the manifest is not JSON")
		}
		if what.Manifests == nil {
			return readManifest(digest, raw)
		}
		index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
		if err != nil {
			return parts{}, because(err, Malformed, "the index cannot be read")
		}
		desc, err := forThisMachine(index.Manifests)
		if err != nil {
			return parts{}, err
		}
		if raw, err = from.manifest(ctx, desc.Digest); err != nil {
			return parts{}, err
		}
		digest = desc.Digest
	}
	return parts{}, problem(Malformed, "indexes are nested deeper than %d levels", maxNested)
}

func readManifest(digest v1.Hash, raw []byte) (parts, error) {
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return parts{}, because(err, Malformed, "the manifest cannot be read")
	}
	if m.SchemaVersion != 2 || m.Config.Digest == (v1.Hash{}) {
		return parts{}, problem(Malformed, "this program does not know this kind of manifest (version %d)", m.SchemaVersion)
	}
	p := parts{manifest: digest, config: blob{digest: m.Config.Digest, size: m.Config.Size}}
	for _, layer := range m.Layers {
		p.layers = append(p.layers, blob{digest: layer.Digest, size: layer.Size})
	}
	for _, b := range append(p.layers, p.config) {
		if b.digest.Algorithm != "sha256" || b.size < 0 {
			return parts{}, problem(Malformed, "the manifest names a part without a sha256 digest or size")
		}
	}
	return p, nil
}

// forThisMachine picks this machine's entry from an index. It takes an entry without a platform only if that is the
// only entry.
func forThisMachine(all []v1.Descriptor) (v1.Descriptor, error) {
	var offered []string
	for _, desc := range all {
		if desc.Digest.Algorithm != "sha256" {
			continue
		}
		if desc.Platform == nil && len(all) == 1 {
			return desc, nil
		}
		if p := desc.Platform; p != nil {
			if p.OS == "linux" && p.Architecture == runtime.GOARCH {
				return desc, nil
			}
			offered = append(offered, fmt.Sprintf("%.20q/%.20q", p.OS, p.Architecture))
		}
	}
	slices.Sort(offered)
	offered = slices.Compact(offered)
	return v1.Descriptor{}, problem(NoPlatform, "it has no image for linux/%s, only for [%s]", runtime.GOARCH,
		strings.Join(offered[:min(len(offered), 10)], " "))
}

// document reads a whole part, if it is small, and compares it with its digest.
func document(ctx context.Context, from source, b blob) ([]byte, error) {
	if b.size > maxDocument {
		return nil, problem(TooLarge, "the configuration has %d bytes, more than %d", b.size, int64(maxDocument))
	}
	r, err := from.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(verified(r, b, "configuration", nil))
}
