//go:build !linux

package process

import "errors"

// MayBecome always fails, because only on Linux can a gateway have a user of its own.
func MayBecome(int) error { return errors.New("a gateway has a user of its own on Linux only") }
