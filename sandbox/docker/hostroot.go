package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"torno/sandbox"
)

// hostLayout is where a host keeps its programs: everything in /usr and links to it, or directories of their own.
type hostLayout struct {
	links map[string]string
	dirs  []string
}

// programDirs are the places beside /usr that a host has programs and libraries in.
var programDirs = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// readLayout looks at a root directory. A link that leads anywhere but to where programs are is left out.
func readLayout(root string) hostLayout {
	layout := hostLayout{links: map[string]string{}}
	for _, name := range programDirs {
		info, err := os.Lstat(filepath.Join(root, name))
		switch {
		case err != nil:
		case info.IsDir():
			layout.dirs = append(layout.dirs, name)
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(filepath.Join(root, name)); err == nil && leadsToPrograms(target) {
				layout.links[name] = target
			}
		}
	}
	return layout
}

func leadsToPrograms(target string) bool {
	rel := strings.TrimPrefix(path.Clean(target), "/")
	for _, dir := range append([]string{"usr"}, programDirs...) {
		if rel == dir || strings.HasPrefix(rel, dir+"/") {
			return true
		}
	}
	return false
}

// emptyDirs are the directories of the empty image. The sandbox's mounts land on them.
var emptyDirs = []string{
	"dev", "etc", "home", strings.TrimPrefix(sandbox.Home, "/"), "proc", "run", "run/torno", "run/torno/bin",
	"run/torno/run", "sys", "tmp", "usr",
}

// modes of those directories that are not open to be read only.
var modes = map[string]int64{"tmp": 0o1777, strings.TrimPrefix(sandbox.Home, "/"): 0o700}

// tar is the empty image: directories and links, no file.
func (l hostLayout) tar() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range append(append([]string(nil), emptyDirs...), l.dirs...) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: cmp.Or(modes[dir], 0o755)}); err != nil {
			return nil, err
		}
	}
	for _, name := range sortedKeys(l.links) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: l.links[name], Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// importEmptyImage sees to it that the engine has the empty image, and returns its name.
func importEmptyImage(ctx context.Context, e *engine, n naming, layout hostLayout) (string, error) {
	content, err := layout.tar()
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

// mounts are the host's programs, and the directory etc in place of the host's. What the administrator put into
// /usr/local is not the system's and is covered.
func (l hostLayout) mounts(etc, empty string) []mount.Mount {
	all := []mount.Mount{
		readOnlyBind("/usr", "/usr"),
		readOnlyBind(empty, "/usr/local"),
		readOnlyBind(etc, "/etc"),
	}
	for _, dir := range l.dirs {
		all = append(all, readOnlyBind("/"+dir, "/"+dir))
	}
	return all
}

// digest is a content's name.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
