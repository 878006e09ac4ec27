package gvisor

import (
	"errors"

	"torno/sandbox/local"
)

// Options say what a Launcher works with, beside what every launcher does. KeeperPath is required.
type Options struct {
	local.Options
	// KeeperPath is the program sandbox-keeper. Runsc is gVisor's, which is looked for beside our own program and in PATH where it
	// is not given.
	KeeperPath, Runsc string
	// ImageCache bounds what unpacked images take on the disk; 0 is the default.
	ImageCache int64
	// Floor and FloorFiles are the bytes and inodes that unpacking an image leaves free on the state's file system.
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
