//go:build !linux

package process

import "errors"

// MayBecome says why this process cannot start another one as a user.
func MayBecome(int) error { return errors.New("a gateway has a user of its own on Linux only") }
