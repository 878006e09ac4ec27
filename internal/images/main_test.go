package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is one entry of a layer. What it does not say is made up by its type.
type entry struct {
	name, link, content string
	kind                byte
	mode                int64
}

func file(name, content string) entry { return entry{name: name, content: content, kind: tar.TypeReg} }
func folderEntry(name string) entry   { return entry{name: name, kind: tar.TypeDir} }
func symlink(name, to string) entry   { return entry{name: name, link: to, kind: tar.TypeSymlink} }
func hardlink(name, to string) entry  { return entry{name: name, link: to, kind: tar.TypeLink} }

// then is when all files of test images were changed.
var then = time.Unix(1_500_000_000, 0)

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode, Size: int64(len(e.content)), ModTime: then}
		if h.Mode == 0 {
			h.Mode = map[bool]int64{true: 0o755, false: 0o644}[e.kind == tar.TypeDir]
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// made is an image as bytes.
type made struct {
	blobs    map[v1.Hash][]byte
	plain    [][]byte // its layers, unpacked
	layers   []v1.Hash
	config   v1.Hash
	manifest v1.Hash
}

// makeImage packs layers, which are tar archives, with gzip.
func makeImage(t testing.TB, layers ...[]byte) made {
	t.Helper()
	config := v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{Env: []string{"A=1", "=x", "none"}, Volumes: map[string]struct{}{"/data": {}, "../up": {}, "/": {}}},
	}
	config.RootFS.Type = "layers"
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	image := made{blobs: map[v1.Hash][]byte{}, plain: layers}
	for _, plain := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digestOf(plain))
		d := image.add(gzipped(t, plain), types.OCILayer)
		m.Layers = append(m.Layers, d)
		image.layers = append(image.layers, d.Digest)
	}
	m.Config = image.add(toJSON(t, config), types.OCIConfigJSON)
	image.config = m.Config.Digest
	image.manifest = image.add(toJSON(t, m), types.OCIManifestSchema1).Digest
	return image
}

func (m made) add(raw []byte, kind types.MediaType) v1.Descriptor {
	d := v1.Descriptor{MediaType: kind, Size: int64(len(raw)), Digest: digestOf(raw)}
	m.blobs[d.Digest] = raw
	return d
}

func toJSON(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// layoutFiles are the files of an OCI layout with images by their tags.
func layoutFiles(t testing.TB, tagged map[string]made) map[string][]byte {
	t.Helper()
	index := v1.IndexManifest{SchemaVersion: 2}
	found := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	for tag, image := range tagged {
		for d, raw := range image.blobs {
			found["blobs/sha256/"+d.Hex] = raw
		}
		index.Manifests = append(index.Manifests, v1.Descriptor{
			Digest: image.manifest, Size: int64(len(image.blobs[image.manifest])), MediaType: types.OCIManifestSchema1,
			Annotations: map[string]string{refName: tag},
		})
	}
	found["index.json"] = toJSON(t, index)
	return found
}

func layoutDir(t testing.TB, found map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, raw := range found {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
			os.WriteFile(filepath.Join(dir, name), raw, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// savedFiles are the members of an archive as docker saved it before it knew OCI layouts.
func savedFiles(t testing.TB, image made) map[string][]byte {
	t.Helper()
	config := image.config.Hex + ".json"
	found := map[string][]byte{config: image.blobs[image.config]}
	var layers []string
	for _, plain := range image.plain {
		name := digestOf(plain).Hex + "/layer.tar"
		found[name] = plain
		layers = append(layers, name)
	}
	found["manifest.json"] = toJSON(t, []map[string]any{{"Config": config, "RepoTags": []string{"x:1"}, "Layers": layers}})
	return found
}

func archiveOf(t testing.TB, found map[string][]byte) string {
	t.Helper()
	var entries []entry
	for name, raw := range found {
		entries = append(entries, file(name, string(raw)))
	}
	at := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(at, tarOf(t, entries...), 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

func mustParse(t testing.TB, text string) Ref {
	t.Helper()
	ref, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func openCache(t testing.TB, o Options) *Cache {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "cache")
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustGet(t testing.TB, c *Cache, ref Ref) *Image {
	t.Helper()
	image, err := c.Get(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { image.Close() })
	return image
}

// wants fails the test unless an error is of a kind.
func wants(t testing.TB, err error, code Code) {
	t.Helper()
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != code {
		t.Fatalf("the error is %v, not %s", err, code)
	} else if e.Next == "" {
		t.Errorf("%v says nothing of what to do", err)
	}
}

// unharmed fails the test unless the cache holds these many images, and nothing else.
func unharmed(t testing.TB, c *Cache, want int) {
	t.Helper()
	for name, n := range map[string]int{"tmp": 0, "rootfs": want} {
		entries, err := os.ReadDir(c.store.path(name))
		if err != nil || len(entries) != n {
			t.Errorf("the cache has %v in %s (%v)", entries, name, err)
		}
	}
}

// listing is a tree as text: name, kind, mode, content.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	if _, err := os.Lstat(dir); err != nil {
		return "gone"
	}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		b.WriteString(info.Mode().String() + " " + name)
		switch {
		case info.Mode().IsRegular():
			raw, _ := os.ReadFile(at)
			b.WriteString("=" + string(raw))
		case info.Mode().Type() == fs.ModeSymlink:
			to, _ := os.Readlink(at)
			b.WriteString("->" + to)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// names are the lines of a listing without the modes.
func names(t testing.TB, dir string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(listing(t, dir)) {
		if _, name, _ := strings.Cut(strings.TrimSpace(line), " "); name != "." {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// unpackLayers unpacks layers into a new directory, and says where it is.
func unpackLayers(t testing.TB, limits Limits, layers ...[]byte) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in", "root")
	return dir, unpackInto(t, dir, limits, layers...)
}

func unpackInto(t testing.TB, dir string, limits Limits, layers ...[]byte) error {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, limits.withDefaults())
	defer u.close()
	for _, layer := range layers {
		if err := u.layer(t.Context(), &bounded{from: bytes.NewReader(layer), left: &u.arriving}); err != nil {
			return err
		}
	}
	return nil
}
