package patch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/atomicfile"
)

const stagePrefix = ".stage-"

// stage holds the content of a child's files, by digest, where the child can no longer change it.
type stage struct {
	store *Store
	name  string
}

func (s *Store) newStage() (*stage, error) {
	name := stagePrefix + randomName()
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return nil, fmt.Errorf("make a place for the child's files: %w", err)
	}
	return &stage{s, name}, nil
}

func (g *stage) close() error { return g.store.root.RemoveAll(g.name) }

// take stages the rest of a file, up to limit bytes, and returns its digest and size.
func (g *stage) take(ctx context.Context, from io.Reader, limit int64) (digest string, size int64, err error) {
	draft, err := atomicfile.BeginIn(g.store.root, g.name, 0o600)
	if err != nil {
		return "", 0, err
	}
	digest, size, err = pour(ctx, draft.File, from, limit)
	if err == nil {
		err = draft.Put(digest, atomicfile.Fast)
	}
	if err = errors.Join(err, draft.Drop()); err != nil {
		return "", 0, fmt.Errorf("hold a copy of a file: %w", err)
	}
	return digest, size, nil
}

// open opens a staged content.
func (g *stage) open(digest string) (*os.File, error) {
	return g.store.root.Open(filepath.Join(g.name, digest))
}

// text reads a short staged content and reports whether it is text.
func (g *stage) text(digest string) ([]byte, bool, error) {
	f, err := g.open(digest)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	return data, err == nil && isText(data), err
}

// has reports whether a content is staged.
func (g *stage) has(digest string) bool {
	_, err := g.store.root.Lstat(filepath.Join(g.name, digest))
	return !errors.Is(err, fs.ErrNotExist)
}

// pour copies up to limit bytes and returns their digest. If there are more, it returns ErrTooMuch.
func pour(ctx context.Context, to io.Writer, from io.Reader, limit int64) (digest string, size int64, err error) {
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, sum), interruptible{ctx, io.LimitReader(from, limit+1)})
	if err == nil && size > limit {
		err = fmt.Errorf("%w: a file has more than %d bytes", ErrTooMuch, limit)
	}
	return hexOf(sum), size, err
}

// interruptible is a reader that ends with its context.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// bounded reads left bytes, and fails if there are more or fewer.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	if b.left < 0 || errors.Is(err, io.EOF) && b.left > 0 {
		return n, &leftError{changedFault}
	}
	return n, err
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func randomName() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
