//go:build !linux

package mounts

import (
	"io/fs"
	"os"

	"torno/sandbox"
)

// The types of this file only let the rest of the program compile; no value of them is ever made.
type (
	Bases  struct{}
	IDMaps struct{}
	Slots  struct{}
	Slot   struct{}
	// Pin has the fields that other packages read.
	Pin struct {
		Source   sandbox.Source
		Dev, Ino uint64
		Dir      bool
		UID, GID uint32
	}
	// Placed has the fields that other packages set.
	Placed struct {
		Dev, Ino uint64
		Writable bool
	}
	// Detached has the fields that other packages read.
	Detached struct{ Dir bool }
)

func OpenTrustedDir(string) (*os.File, error)                  { return nil, ErrNeedsLinux }
func OpenBases([]string) (*Bases, error)                       { return nil, ErrNeedsLinux }
func (*Bases) Add([]string) error                              { return ErrNeedsLinux }
func (*Bases) Pin(sandbox.Source) (*Pin, error)                { return nil, ErrNeedsLinux }
func (*Bases) PinAs(sandbox.Source, User) (*Pin, error)        { return nil, ErrNeedsLinux }
func (User) Do(func() error) error                             { return ErrNeedsLinux }
func (*Bases) Paths() []string                                 { return nil }
func (*Bases) TryIDMap(string, *IDMaps) error                  { return ErrNeedsLinux }
func (*Bases) Withhold(Withheld) error                         { return ErrNeedsLinux }
func (*Bases) Above(*Pin) ([]sandbox.Directory, error)         { return nil, ErrNeedsLinux }
func (*Bases) Check() error                                    { return ErrNeedsLinux }
func (*Bases) Apart(*os.File) error                            { return ErrNeedsLinux }
func (*Bases) PinApart(sandbox.Source, *os.File) (*Pin, error) { return nil, ErrNeedsLinux }
func (*Bases) Is(string, fs.FileInfo) bool                     { return false }
func (*Bases) Close() error                                    { return nil }
func (p *Pin) Owner() Identity                                 { return Identity{UID: p.UID, GID: p.GID} }
func (*Pin) File() *os.File                                    { return nil }
func (*Pin) HerePath() (string, error)                         { return "", ErrNeedsLinux }
func (*Pin) Clone(CloneOptions) (*Detached, error)             { return nil, ErrNeedsLinux }
func (*Pin) Close() error                                      { return nil }
func (*Detached) Close() error                                 { return nil }
func NewIDMaps() *IDMaps                                       { return &IDMaps{} }
func (*IDMaps) Get(Identity, Identity) (*os.File, error)       { return nil, ErrNeedsLinux }
func (*IDMaps) Reading(uint32, uint32) (*os.File, error)       { return nil, ErrNeedsLinux }
func (*IDMaps) Close() error                                   { return nil }
func OpenSlots(string, int, bool) (*Slots, error)              { return nil, ErrNeedsLinux }
func (*Slots) Acquire() (*Slot, error)                         { return nil, ErrNeedsLinux }
func (*Slots) Adopt(int) (*Slot, error)                        { return nil, ErrNeedsLinux }
func (*Slots) Leftovers() ([]int, error)                       { return nil, ErrNeedsLinux }
func (*Slots) Sweep(map[int]bool) error                        { return ErrNeedsLinux }
func (*Slots) Close() error                                    { return nil }
func (*Slot) Number() int                                      { return 0 }
func (*Slot) Path() string                                     { return "" }
func (*Slot) RunDir() string                                   { return "" }
func (*Slot) ViewDir(int) (string, error)                      { return "", ErrNeedsLinux }
func (*Slot) RootDir() string                                  { return "" }
func (*Slot) Show(string, string) error                        { return ErrNeedsLinux }
func (*Slot) ShowIn(int, string, string) error                 { return ErrNeedsLinux }
func (*Slot) Stack(string, *os.File) error                     { return ErrNeedsLinux }
func (*Slot) Place(*Detached, int, string) error               { return ErrNeedsLinux }
func (*Slot) PlaceFor(*Detached, int, string, User) error      { return ErrNeedsLinux }
func (*Slot) Frame(int) error                                  { return ErrNeedsLinux }
func (*Slot) Seal(int) error                                   { return ErrNeedsLinux }
func (*Slot) Unseal(int) error                                 { return ErrNeedsLinux }
func (*Slot) Prove(int, string, Placed) error                  { return ErrNeedsLinux }
func (*Slot) ProveSealed(int) error                            { return ErrNeedsLinux }
func (*Slot) Clear() error                                     { return ErrNeedsLinux }
func (*Slot) Free() error                                      { return ErrNeedsLinux }
