package images

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// files is an image layout of the operator: a directory, or an archive of such a directory.
type files interface {
	open(name string) (io.ReadCloser, int64, error) // fs.ErrNotExist if the layout has no such file
	Close() error
}

// folder is a layout in a directory. The directory is the operator's, but its index may not lead out of it.
type folder struct{ root *os.Root }

func openFolder(place *os.File) (*folder, error) {
	root, err := os.OpenRoot(again(place))
	if err != nil {
		return nil, unreadable(err, "the directory cannot be opened")
	}
	return &folder{root}, nil
}

func (f *folder) Close() error { return f.root.Close() }

func (f *folder) open(name string) (io.ReadCloser, int64, error) {
	if info, err := f.root.Stat(name); err != nil {
		return nil, 0, err
	} else if !info.Mode().IsRegular() {
		return nil, 0, problem(Malformed, "%s is not a regular file", quoted(name))
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil {
		err = ownAlone(name, info)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// member says where a file lies in an archive.
type member struct {
	offset, size int64
	link         string // the member to which a link leads; empty if it is no link
}

// archive is a tar archive whose members are read in place, in any order.
type archive struct {
	file    *os.File
	members map[string]member
}

func openArchive(place *os.File, info fs.FileInfo) (*archive, error) {
	if !info.Mode().IsRegular() {
		return nil, problem(Malformed, "the archive is not a regular file")
	}
	file, err := os.Open(again(place))
	if err != nil {
		return nil, unreadable(err, "the archive cannot be opened")
	}
	a := &archive{file: file, members: map[string]member{}}
	if err := a.index(); err != nil {
		file.Close()
		return nil, err
	}
	return a, nil
}

// index notes where each member lies. The tar reader reads one block at a time, so after a header the file's offset is
// at the content.
func (a *archive) index() error {
	reader := tar.NewReader(a.file)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			e := because(err, Malformed, "the file is not a complete tar archive")
			e.Next = "save the image again; unpack a compressed archive with gunzip first"
			return e
		}
		if len(a.members) == maxMembers {
			return problem(TooLarge, "the archive holds more than %d files", maxMembers)
		}
		offset, err := a.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		a.note(header, offset)
	}
}

func (a *archive) note(header *tar.Header, offset int64) {
	name := path.Clean(header.Name)
	switch header.Typeflag {
	case tar.TypeReg:
		a.members[name] = member{offset: offset, size: header.Size}
	case tar.TypeSymlink:
		a.members[name] = member{link: path.Join(path.Dir(name), header.Linkname)}
	case tar.TypeLink:
		a.members[name] = member{link: path.Clean(header.Linkname)}
	}
}

func (a *archive) Close() error { return a.file.Close() }

func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	m, ok := a.members[path.Clean(name)]
	if ok && m.link != "" { // old versions of docker save a layer once and link to it
		m, ok = a.members[m.link]
	}
	if !ok || m.link != "" {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(a.file, m.offset, m.size)), m.size, nil
}

// unreadable turns a failure to open a path of the operator into an Error.
func unreadable(err error, what string) *Error {
	e := because(err, NotFound, "%s", what)
	if errors.Is(err, fs.ErrPermission) {
		e.Code, e.Next = Denied, "let the user of the watcher read it"
	}
	return e
}

// small reads a whole file, if it is no larger than maxDocument.
func small(from files, name string) ([]byte, error) {
	r, size, err := from.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxDocument {
		return nil, problem(TooLarge, "%s has %d bytes, more than %d", quoted(name), size, int64(maxDocument))
	}
	return io.ReadAll(io.LimitReader(r, maxDocument))
}
