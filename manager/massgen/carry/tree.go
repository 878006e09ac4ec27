package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

// Limits bound a copy.
type Limits struct {
	Files int
	Bytes int64
	Depth int
}

// DefaultLimits are the limits for everything that is copied for a child.
var DefaultLimits = Limits{Files: 10_000, Bytes: 256 << 20, Depth: 32}

// ErrTooMuch means that there is more than the limits allow.
var ErrTooMuch = errors.New("there is more than the limits allow")

// Copied is the outcome of a copy.
type Copied struct {
	Files int
	Bytes int64
	Left  []string // the first few paths left out, each with the reason
	More  int      // how many others were left out
}

const maxNamed = 5

func (c *Copied) leave(path, why string) {
	if len(c.Left) == maxNamed {
		c.More++
		return
	}
	c.Left = append(c.Left, fmt.Sprintf("%q: %s", path, why))
}

// Tree copies everything beneath one directory into another. It leaves out everything except plain files and
// directories, and every name in leaveOut.
func Tree(ctx context.Context, from, to *os.Root, limits Limits, leaveOut ...string) (Copied, error) {
	c := &copying{ctx: ctx, limits: limits, leaveOut: leaveOut}
	err := c.directory(from, to, ".", 0)
	return c.done, err
}

// Any copies a file or a directory to the same path beneath another directory.
func Any(ctx context.Context, from *os.Root, rel string, to *os.Root, limits Limits) (Copied, error) {
	c := &copying{ctx: ctx, limits: limits}
	parent, err := beneath.Dir(from, filepath.Dir(rel))
	if err != nil {
		return Copied{}, err
	}
	defer parent.Close()
	info, err := parent.Lstat(filepath.Base(rel))
	if err != nil {
		return Copied{}, err
	}
	if !info.IsDir() {
		target, err := makeDirs(to, filepath.Dir(rel))
		if err != nil {
			return Copied{}, err
		}
		defer target.Close()
		return c.done, c.file(parent, target, filepath.Base(rel))
	}
	source, err := beneath.Step(parent, filepath.Base(rel))
	if err != nil {
		return Copied{}, err
	}
	defer source.Close()
	target, err := makeDirs(to, rel)
	if err != nil {
		return Copied{}, err
	}
	defer target.Close()
	err = c.directory(source, target, rel, 0)
	return c.done, err
}

type copying struct {
	ctx      context.Context
	limits   Limits
	leaveOut []string
	done     Copied
	seen     int // number of entries
}

// directory copies the contents of a directory. It leaves out a single file that it cannot copy.
func (c *copying) directory(from, to *os.Root, rel string, depth int) error {
	if depth > c.limits.Depth {
		return fmt.Errorf("%q is %d directories deep: %w", rel, depth, ErrTooMuch)
	}
	held, err := from.Open(".")
	if err != nil {
		return err
	}
	defer held.Close()
	for {
		entries, err := held.ReadDir(256)
		for _, entry := range entries {
			if err := c.entry(from, to, entry, path.Join(rel, entry.Name()), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copying) entry(from, to *os.Root, entry fs.DirEntry, rel string, depth int) error {
	if err := context.Cause(c.ctx); err != nil {
		return err
	}
	c.seen++
	if c.seen > c.limits.Files {
		return fmt.Errorf("more than %d files: %w", c.limits.Files, ErrTooMuch)
	}
	name := entry.Name()
	if slices.Contains(c.leaveOut, name) || strings.HasPrefix(name, atomicfile.DraftPrefix) {
		return nil
	}
	if !entry.IsDir() {
		err := c.file(from, to, name)
		if err != nil && !errors.Is(err, ErrTooMuch) {
			c.done.leave(rel, err.Error())
			return nil
		}
		return err
	}
	source, err := beneath.Step(from, name)
	if err != nil {
		c.done.leave(rel, err.Error())
		return nil
	}
	defer source.Close()
	target, err := Enter(to, name)
	if err != nil {
		return err
	}
	defer target.Close()
	return c.directory(source, target, rel, depth+1)
}

// file copies one file, including its time.
func (c *copying) file(from, to *os.Root, name string) error {
	f, seen, err := beneath.Open(from, name, beneath.CheckPlain)
	if err != nil {
		return err
	}
	defer f.Close()
	left := c.limits.Bytes - c.done.Bytes
	if seen.Size() > left {
		return fmt.Errorf("more than %d bytes: %w", c.limits.Bytes, ErrTooMuch)
	}
	counted := &counting{Reader: io.LimitReader(f, left)}
	err = put(to, name, counted, seen.ModTime())
	c.done.Bytes += counted.n
	if err == nil {
		c.done.Files++
	}
	return err
}

type counting struct {
	io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
