package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"

	"torno/sandbox/docker/engine"
	"torno/sandbox/local/hostroot"
)

// emptyTar returns the empty root as the content of an image: directories and links, no file.
func emptyTar(layout hostroot.Layout) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range layout.Entries() {
		header := &tar.Header{Typeflag: tar.TypeSymlink, Name: e.Name, Linkname: e.Link, Mode: int64(e.Mode.Perm())}
		if e.Mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, e.Name+"/"
		}
		if e.Mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// EmptyImage makes sure that the engine has the empty image, and returns its name.
func (s Stock) EmptyImage(ctx context.Context, layout hostroot.Layout) (string, error) {
	content, err := emptyTar(layout)
	if err != nil {
		return "", fmt.Errorf("write the empty image: %w", err)
	}
	ref := s.Names.HostImage(digest(content))
	if _, err := s.Engine.InspectImage(ctx, ref); err == nil {
		return ref, nil
	} else if !engine.IsGone(err) {
		return "", fmt.Errorf("look for the empty image: %w", err)
	}
	if err := s.Engine.ImportImage(ctx, ref, bytes.NewReader(content), "LABEL "+s.Names.Filter()); err != nil {
		return "", fmt.Errorf("import the empty image: %w", err)
	}
	return ref, nil
}
