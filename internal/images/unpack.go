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

// unpacker makes one tree out of layers, beginning with the lowest.
type unpacker struct {
	at     walker
	limits Limits // how much is left of them; holes count as bytes, too
	work   work
	room   *room // nil if the disk may fill up
	facts  facts
	buffer []byte

	arriving int64 // how many bytes may still arrive, with headers; for a sparse file fewer arrive than it has

	// About the layer that is being unpacked:
	mine   map[string]*dirTraits // the entries that it has brought; nil for an entry that is no directory
	opaque map[string]bool       // the directories in which it has hidden everything from lower layers
	names  int                   // bytes of the names in mine and opaque
}

// facts are the findings of unpacking.
type facts struct {
	Disk    int64 `json:"disk"` // about how many bytes the tree takes
	Files   int64 `json:"files"`
	Skipped int64 `json:"skipped"` // devices, FIFOs, sockets, and entries of an unknown type
}

// dirTraits are the mode and the time that settle gives to a directory, once nothing more is put into it.
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

// layer unpacks the entries of a layer. It may return before it has read the stream to its end.
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

// notTar turns an error of the tar reader into an error about the image, and keeps an error that says more.
func notTar(err error) error {
	if errors.Is(err, tar.ErrHeader) {
		return because(err, Malformed, "a layer is not a tar archive")
	}
	return badStream(err)
}

// count takes one file off the limit, and its block from the room.
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
	metadata  = ".wh..wh." // the beginning of names that aufs uses for itself
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

// entryName returns the name of an entry within the tree, without a slash at either end; "" is the tree itself.
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
		return problem(Malformed, "a layer replaces the root directory with something else")
	}
	return u.note(".", traits(header))
}

// note remembers that this layer has brought an entry.
func (u *unpacker) note(full string, t *dirTraits) error {
	u.mine[full] = t
	return u.keep(full)
}

// keep counts a remembered name against the bound maxNames.
func (u *unpacker) keep(name string) error {
	if u.names += len(name); u.names > maxNames {
		return problem(TooLarge, "the names of a layer take more than %d bytes", int64(maxNames))
	}
	return nil
}

// settle gives the directories that the layer has brought their modes and times.
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
			continue // the layer has replaced it, or a directory above it
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
