package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runParent runs the agent's container and checks what it tells.
func (s *stage) runParent(ctx context.Context) error {
	if err := s.importParent(ctx); err != nil {
		return fmt.Errorf("make the parent's image: %w", err)
	}
	id, err := s.engine.create(ctx, filepath.Base(s.dir), s.parentConfig())
	if err != nil {
		return err
	}
	s.marks = append(s.marks, id)
	if err := s.engine.do(ctx, "POST", "/containers/"+id+"/start"); err != nil {
		return err
	}
	complaints, failed := s.hear(ctx, id)
	code, err := s.engine.exitCode(ctx, id)
	if err == nil && code != 0 {
		err = fmt.Errorf("the agent ended with %d: %s", code, complaints)
	}
	return errors.Join(err, failed)
}

// hear listens to the agent until it ends or says what it should not.
func (s *stage) hear(ctx context.Context, id string) (complaints string, failed error) {
	told, tell := io.Pipe()
	var stderr strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		tell.CloseWithError(s.engine.follow(ctx, id, tell, &stderr))
	}()
	failed = s.listen(told)
	told.Close() // whoever still tells is not heard
	<-done
	return strings.TrimSpace(stderr.String()), failed
}

// parentImage is the image's name.
func (s *stage) parentImage() (repo, tag string) { return "torno-demo", filepath.Base(s.dir) }

// importParent makes an image with nothing but the agent in it.
func (s *stage) importParent(ctx context.Context) error {
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
func (s *stage) parentConfig() any {
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

// listen reads what the parent tells, shows it, and says what is not as it has to be.
func (s *stage) listen(told io.Reader) error {
	parts := play()
	var wrong error
	for lines := bufio.NewScanner(told); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("the parent says %q: %w", lines.Text(), err)
		}
		if l.Cage != nil {
			s.cage(*l.Cage)
			wrong = errors.Join(wrong, l.Cage.judge())
		}
		if l.Ending != nil {
			i := slices.IndexFunc(parts, func(p part) bool { return p.child == l.Ending.Child })
			if i < 0 {
				return fmt.Errorf("nobody is called %q", l.Ending.Child)
			}
			s.ending(parts[i], *l.Ending)
			s.endings = append(s.endings, *l.Ending)
			wrong = errors.Join(wrong, parts[i].judge(*l.Ending))
		}
	}
	if len(s.endings) != len(parts) {
		wrong = errors.Join(wrong, fmt.Errorf("%d of %d children came to an end", len(s.endings), len(parts)))
	}
	return wrong
}
