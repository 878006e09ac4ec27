package images

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
)

// saved is an archive as docker save writes it. Its manifest.json names the parts by their place in the archive.
type saved struct{ *layout }

func (s *saved) parts(context.Context) (parts, error) {
	raw, err := small(s.files, "manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		e := problem(Malformed, "the archive holds neither an OCI layout nor an image from docker save")
		e.Next = "make it with docker save or skopeo copy; unpack an exported root filesystem, and name it as dir:/path"
		return parts{}, e
	}
	if err != nil {
		return parts{}, err
	}
	var images []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(raw, &images); err != nil {
		return parts{}, because(err, Malformed, "its manifest.json cannot be read")
	}
	if len(images) != 1 {
		e := problem(Malformed, "the archive holds %d images", len(images))
		e.Next = "save one image only"
		return parts{}, e
	}
	return s.named(images[0].Config, images[0].Layers)
}

func (s *saved) named(config string, layers []string) (parts, error) {
	raw, err := small(s.files, config)
	if err != nil {
		return parts{}, because(err, Malformed, "the configuration %s cannot be read", quoted(config))
	}
	p := parts{config: blob{name: config, digest: digestOf(raw), size: int64(len(raw))}}
	for _, name := range layers {
		r, size, err := s.files.open(name)
		if err != nil {
			return parts{}, because(err, Malformed, "the layer %s cannot be read", quoted(name))
		}
		r.Close()
		p.layers = append(p.layers, blob{name: name, size: size})
	}
	return p, nil
}
