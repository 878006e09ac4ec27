package images

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// The modes of unpacked entries. An entry keeps only its keptBits: no write bit except the owner's, no set-id bit, no
// sticky bit. Every file also gets fileBits, and every directory the bits in directory.
const (
	keptBits  = 0o755
	fileBits  = 0o400
	directory = 0o700
)

func traits(header *tar.Header) *dirTraits {
	return &dirTraits{mode: fs.FileMode(header.Mode)&keptBits | directory, time: timeOf(header)}
}

// timeOf returns the entry's time, limited to the range that every file system can store.
func timeOf(header *tar.Header) time.Time {
	const latest = 1<<32 - 1
	return time.Unix(min(max(header.ModTime.Unix(), 0), latest), int64(header.ModTime.Nanosecond()))
}

// directory makes a directory, unless it exists. It replaces anything else that has the name.
func (u *unpacker) directory(base string, header *tar.Header) error {
	here := u.at.dir()
	if info, err := here.Lstat(base); err != nil || !info.IsDir() {
		if err := u.removeExisting(base); err != nil {
			return err
		}
		if err := here.Mkdir(base, 0o755); err != nil {
			return hostile(err, base)
		}
	}
	return u.note(u.at.full(base), traits(header))
}

// leaf makes an entry that is not a directory. It replaces an existing entry.
func (u *unpacker) leaf(base string, header *tar.Header, content io.Reader) error {
	if err := u.removeExisting(base); err != nil {
		return err
	}
	u.facts.Files++
	full := u.at.full(base)
	var err error
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		err = u.file(base, header, content)
	case tar.TypeSymlink:
		err = u.at.dir().Symlink(header.Linkname, base)
	case tar.TypeLink:
		err = u.link(header.Linkname, full)
	default:
		u.facts.Skipped++
	}
	if err != nil {
		return hostile(err, full)
	}
	return u.note(full, nil)
}

// removeExisting removes the entry that already has the name, if any.
func (u *unpacker) removeExisting(base string) error {
	if err := u.at.dir().RemoveAll(base); err != nil {
		return hostile(err, base)
	}
	delete(u.mine, u.at.full(base))
	return nil
}

func (u *unpacker) file(base string, header *tar.Header, content io.Reader) error {
	if header.Size > u.limits.Bytes {
		return tooManyBytes()
	}
	file, err := u.at.dir().OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := u.write(file, content)
	u.limits.Bytes -= n // count holes too, because they cost time
	err = errors.Join(err, file.Chmod(fs.FileMode(header.Mode)&keptBits|fileBits), file.Close())
	if err != nil {
		return err
	}
	return u.at.dir().Chtimes(base, timeOf(header), timeOf(header))
}

func tooManyBytes() *Error { return problem(TooLarge, "its layers hold too many bytes") }

// link gives an existing file or symbolic link one more name. It refuses a directory, which can have only one name.
func (u *unpacker) link(old, full string) error {
	name, err := entryName(old)
	if err != nil {
		return err
	}
	parent, base := path.Split(name)
	if err := u.at.enter(parent, false); err != nil {
		return err
	}
	info, err := u.at.dir().Lstat(base)
	if err != nil {
		return err
	}
	if t := info.Mode().Type(); t != 0 && t != fs.ModeSymlink {
		return problem(Malformed, "a layer links to %s, which is not a file", quoted(old))
	}
	return u.at.stack[0].dir.Link(u.at.full(base), full)
}

// hostile turns a system error about a name that a stranger wrote into an error about the image.
func hostile(err error, name string) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	for _, is := range []error{syscall.ENAMETOOLONG, fs.ErrNotExist, fs.ErrInvalid, syscall.EINVAL, syscall.EMLINK, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(err, is) {
			return because(is, Malformed, "a layer holds %s, which cannot be created", quoted(name))
		}
	}
	return badStream(err)
}
