//go:build !linux

package lock

import "os"

// Directory does nothing: the watcher serves no outbox on these systems.
type Directory struct{}

// OfDirectory locks nothing.
func OfDirectory(string, func() (*os.File, error), func(error)) *Directory { return &Directory{} }

// Holders returns nil.
func Holders(string) []int { return nil }

// Lock locks nothing.
func (*Directory) Lock() error { return nil }

// Unlock unlocks nothing.
func (*Directory) Unlock() error { return nil }
