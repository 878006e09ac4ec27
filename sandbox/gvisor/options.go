package gvisor

import (
	"errors"

	"torno/sandbox/local"
)

// Options are the settings of a Launcher, in addition to the settings that every launcher has. KeeperPath is required.
type Options struct {
	local.Options
	// KeeperPath is the path of the program sandbox-keeper. Runsc is the path of gVisor's program; if it is "", the
	// launcher looks beside our own program and in PATH.
	KeeperPath, Runsc string
	// ImageCache bounds the disk space of unpacked images, in bytes; 0 means the default.
	ImageCache int64
	// Floor and FloorFiles are the bytes and inodes that must stay free on the state's file system when an image is
	// unpacked.
	Floor, FloorFiles int64
}

const defaultImageCache = 20 << 30

func (o Options) checked() (_ Options, err error) {
	if o.Options, err = o.Checked(); err != nil {
		return o, err
	}
	if o.KeeperPath == "" {
		return o, errors.New("a launcher needs the path of sandbox-keeper")
	}
	if o.ImageCache <= 0 {
		o.ImageCache = defaultImageCache
	}
	return o, nil
}
