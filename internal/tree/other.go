//go:build !linux

package tree

import (
	"context"
	"os"
)

// Dir only lets the rest of the program compile; there is never one.
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
func (*Dir) Close() error { return nil }
