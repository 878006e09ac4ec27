package images

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// unpacker makes one tree of layers, from the lowest up.
type unpacker struct {
	at     walker
	limits Limits // what is left of them; of bytes, holes are counted
	work   work
	room   *room // nil where the disk may fill up
	facts  facts
	buffer []byte

	arriving int64 // what may still arrive, headers and all: of a sparse file less arrives than lies there

	// Of the layer that is being unpacked:
	mine   map[string]*dirTraits // what it has brought; nil for what is no directory
	opaque map[string]bool       // directories of which it has hidden all that lower layers brought
	names  int                   // bytes of names in both
}

// facts are the findings of unpacking.
type facts struct {
	Disk    int64 `json:"disk"` // about what the tree takes
	Files   int64 `json:"files"`
	Skipped int64 `json:"skipped"` // devices, FIFOs, sockets, and what has no name
}

// dirTraits are given to a directory when nothing is put into it any more.
type dirTraits struct {
	mode fs.FileMode
	time time.Time
}

func newUnpacker(root *os.Root, limits Limits) *unpacker {
	const headers = 4 << 10
	u := &unpacker{limits: limits, arriving: limits.Bytes + headers*min(limits.Files, 1<<32)}
	u.work = work{ctx: context.Background(), left: firstSteps}
	u.at = walker{stack: []level{{dir: root}}, made: u.count, spend: u.work.spend}
	return u
}

func (u *unpacker) close() { u.at.cut(1) }

// layer unpacks the entries of a layer. It need not read its stream to the end.
func (u *unpacker) layer(ctx context.Context, r io.Reader) error {
	u.mine, u.opaque, u.names, u.work.ctx = map[string]*dirTraits{}, map[string]bool{}, 0, ctx
	reader := tar.NewReader(r)
	for ctx.Err() == nil {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return u.settle()
		}
		if err != nil {
			return notTar(err)
		}
		u.work.left += stepsForEntry
		if err := u.count(); err != nil {
			return err
		}
		if err := u.entry(header, reader); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// notTar keeps an error that says more than the tar reader's.
func notTar(err error) error {
	if errors.Is(err, tar.ErrHeader) {
		return because(err, Malformed, "a layer is no tar archive")
	}
	return badStream(err)
}

// count takes one file off the limit.
func (u *unpacker) count() error {
	if u.limits.Files--; u.limits.Files < 0 {
		return problem(TooLarge, "it holds too many files")
	}
	u.facts.Disk += blockSize
	return u.room.take(blockSize)
}

const (
	blockSize = 4096
	whiteout  = ".wh."
	opaque    = ".wh..wh..opq"
	metadata  = ".wh..wh." // what aufs keeps for itself
)

func (u *unpacker) entry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	if name == "" {
		return u.rootEntry(header)
	}
	parent, base := path.Split(name)
	if base != opaque && strings.Contains("/"+name, "/"+metadata) {
		return nil
	}
	if strings.HasPrefix(base, whiteout) {
		return u.whiteout(parent, base)
	}
	if err := u.at.enter(parent, true); err != nil {
		return err
	}
	if header.Typeflag == tar.TypeDir {
		return u.directory(base, header)
	}
	return u.leaf(base, header, content)
}

// entryName is a name within the tree, without a slash at either end; "" is the tree itself.
func entryName(name string) (string, error) {
	if len(name) > maxPath {
		return "", problem(Malformed, "a layer holds the name %s, longer than %d bytes", quoted(name), maxPath)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", problem(Malformed, "a layer holds the name %s, which leads upwards", quoted(name))
		}
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/"), nil
}

func (u *unpacker) rootEntry(header *tar.Header) error {
	if header.Typeflag != tar.TypeDir {
		return problem(Malformed, "a layer replaces the root directory by something else")
	}
	return u.note(".", traits(header))
}

// note remembers what this layer has brought.
func (u *unpacker) note(full string, t *dirTraits) error {
	u.mine[full] = t
	return u.keep(full)
}

// keep takes a name that is remembered off the bound.
func (u *unpacker) keep(name string) error {
	if u.names += len(name); u.names > maxNames {
		return problem(TooLarge, "the names of a layer take more than %d bytes", int64(maxNames))
	}
	return nil
}

// settle gives the directories of a layer their modes and times.
func (u *unpacker) settle() error {
	root := u.at.stack[0].dir
	for full, t := range u.mine {
		if t == nil {
			continue
		}
		if err := u.work.spend(0); err != nil {
			return err
		}
		info, err := root.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue // the layer has replaced it, or the way to it
		}
		if err != nil {
			return err
		}
		if err := errors.Join(root.Chmod(full, t.mode), root.Chtimes(full, t.time, t.time)); err != nil {
			return err
		}
	}
	return nil
}
