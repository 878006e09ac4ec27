//go:build !linux

package lock

import "os"

// Directory is for systems on which nothing is served.
type Directory struct{}

// OfDirectory locks nothing.
func OfDirectory(string, func() (*os.File, error), func(error)) *Directory { return &Directory{} }

// Hold locks nothing.
func (*Directory) Hold() error { return nil }

// Release lets nothing go.
func (*Directory) Release() error { return nil }
