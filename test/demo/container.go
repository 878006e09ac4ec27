package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// container is the agent's home on an engine.
type container struct{ *stage }

// live runs the agent in a container.
func (s container) live(ctx context.Context, told, complaints io.Writer) (code int, err error) {
	if err := s.importParent(ctx); err != nil {
		return 0, fmt.Errorf("make the parent's image: %w", err)
	}
	id, err := s.engine.create(ctx, filepath.Base(s.dir), s.parentConfig())
	if err != nil {
		return 0, err
	}
	s.marks = append(s.marks, id)
	if err := s.engine.do(ctx, "POST", "/containers/"+id+"/start"); err != nil {
		return 0, err
	}
	if err := s.engine.follow(ctx, id, told, complaints); err != nil {
		return 0, err
	}
	return s.engine.exitCode(ctx, id)
}

// leave removes the agent's container and image, where they came to be.
func (s container) leave(ctx context.Context) error {
	repo, tag := s.parentImage()
	return errors.Join(
		s.engine.remove(ctx, "/containers/"+filepath.Base(s.dir)+"?force=1&v=1"),
		s.engine.remove(ctx, "/images/"+repo+":"+tag),
	)
}

// parentImage is the image's name.
func (s container) parentImage() (repo, tag string) { return "torno-demo", filepath.Base(s.dir) }

// importParent makes an image with nothing but the agent in it.
func (s container) importParent(ctx context.Context) error {
	program, err := os.ReadFile(s.path("demo"))
	if err != nil {
		return err
	}
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "agent", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return err
	}
	if _, err := w.Write(program); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	repo, tag := s.parentImage()
	return s.engine.importImage(ctx, repo, tag, &image)
}

// parentConfig is how one shuts in an agent that has an outbox.
func (s container) parentConfig() any {
	type object = map[string]any
	repo, tag := s.parentImage()
	return object{
		"Image": repo + ":" + tag, "Entrypoint": []string{"/agent", "parent", s.outbox},
		"User": fmt.Sprintf("%d:%d", s.owner, s.owner), "NetworkDisabled": true,
		"HostConfig": object{
			"NetworkMode": "none", "CapDrop": []string{"ALL"}, "SecurityOpt": []string{"no-new-privileges"},
			"ReadonlyRootfs": true, "Memory": 256 << 20, "PidsLimit": 128, "LogConfig": object{"Type": "local"},
			"Mounts": []object{{"Type": "bind", "Source": s.outbox, "Target": s.outbox}},
		},
	}
}
