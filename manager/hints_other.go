//go:build !linux

package manager

import "errors"

// notify gives no notifications: kqueue would need a descriptor for every file in the outbox, and we cannot bound their
// number.
func notify(string, func(name string)) (stop func() error, err error) {
	return nil, errors.ErrUnsupported
}
