package images

import (
	"errors"
	"io/fs"
	"os"

	"torno/internal/trust"
)

// openLocal opens a place of the operator, once. From then on only that handle is used, whatever comes to lie at the
// path. It refuses a path that an untrusted user could lead elsewhere, and a place that Options.Apart refuses because a
// parent could reach it.
func (c *Cache) openLocal(path string) (*os.File, fs.FileInfo, error) {
	held, err := trust.Places().Open(path)
	if loose, ok := errors.AsType[*trust.Error](err); ok {
		return nil, nil, because(loose, Unsafe, "another user could replace it")
	}
	if err != nil {
		return nil, nil, unreadable(err, "it cannot be opened")
	}
	info, err := held.Stat()
	if err == nil && c.options.Apart != nil {
		if near := c.options.Apart(held); near != nil {
			err = because(near, Unsafe, "it is not apart from the places that requests reach")
		}
	}
	if err != nil {
		held.Close()
		return nil, nil, err
	}
	return held, info, nil
}

// ownAlone refuses a file in a place of the operator if another user could change it, because its content is trusted
// like the operator's own word.
func ownAlone(name string, info fs.FileInfo) error {
	if err := trust.Places().CheckFile(name, info); err != nil {
		return because(err, Unsafe, "another user could replace its content")
	}
	return nil
}

// directoryImage makes an Image of a directory of the operator, and uses the directory where it lies.
func (c *Cache) directoryImage(ref Ref) (*Image, error) {
	held, info, err := c.openLocal(ref.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		held.Close()
		e := problem(Malformed, "it is not a directory")
		e.Next = "name an image in a file as archive:/path"
		return nil, e
	}
	return &Image{Dir: ref.path, Reference: ref.text, root: held}, nil
}
