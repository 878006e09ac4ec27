package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/docker/docker/api/types/mount"

	"torno/sandbox/local/hostroot"
)

// emptyTar is the empty root as the content of an image: directories and links, no file.
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

// importEmptyImage sees to it that the engine has the empty image, and returns its name.
func importEmptyImage(ctx context.Context, e *engine, n naming, layout hostroot.Layout) (string, error) {
	content, err := emptyTar(layout)
	if err != nil {
		return "", fmt.Errorf("write the empty image: %w", err)
	}
	ref := n.hostImage(digest(content))
	if _, err := e.inspectImage(ctx, ref); err == nil {
		return ref, nil
	} else if !isGone(err) {
		return "", fmt.Errorf("look for the empty image: %w", err)
	}
	if err := e.importImage(ctx, ref, bytes.NewReader(content), "LABEL "+n.filter()); err != nil {
		return "", fmt.Errorf("import the empty image: %w", err)
	}
	return ref, nil
}

// readOnlyBinds are binds in the engine's words.
func readOnlyBinds(binds []hostroot.Bind) (all []mount.Mount) {
	for _, b := range binds {
		all = append(all, readOnlyBind(b.Source, b.Target))
	}
	return all
}

// digest is a content's name.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
