//go:build !linux

package tree

import (
	"context"
	"os"
)

// Dir only lets the rest of the program compile. No Dir exists on this system.
type Dir struct{}

func Reopen(*os.File) (*Dir, error)                         { return nil, ErrNeedsLinux }
func (*Dir) ID() ID                                         { return ID{} }
func (*Dir) Space() (Space, error)                          { return Space{}, ErrNeedsLinux }
func (*Dir) Measure(context.Context, Bounds) (Usage, error) { return Usage{}, ErrNeedsLinux }
func (*Dir) Inspect(context.Context, Bounds, ...string) (Findings, error) {
	return Findings{}, ErrNeedsLinux
}

func (*Dir) Artifacts(context.Context, Bounds, Want) (Artifacts, error) {
	return Artifacts{}, ErrNeedsLinux
}

func (*Dir) CopyTo(context.Context, *os.File, CopyBounds) (Copied, error) {
	return Copied{}, ErrNeedsLinux
}
func (*Dir) Close() error { return nil }

func OpenBeneath(*os.File, string) (*os.File, error)   { return nil, ErrNeedsLinux }
func OwnerOf(*os.File) (uid, gid uint32, err error)    { return 0, 0, ErrNeedsLinux }
func Rename(*os.File, string, string) error            { return ErrNeedsLinux }
func MoveOut(*os.File, string, *os.File, string) error { return ErrNeedsLinux }
func Make(*os.File, string, uint32) (*os.File, error)  { return nil, ErrNeedsLinux }
func OpenIn(*os.File, string) (*os.File, error)        { return nil, ErrNeedsLinux }
func RemoveEmpty(*os.File, string) error               { return ErrNeedsLinux }

func Empty(context.Context, *os.File, string, func(*os.File) error, Bounds) (Emptied, error) {
	return Emptied{}, ErrNeedsLinux
}
