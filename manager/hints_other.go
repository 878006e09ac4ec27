//go:build !linux

package manager

import "errors"

// notify gives no notifications: kqueue would hold a descriptor for every file in the outbox, and who fills the outbox
// is not ours to say.
func notify(string, func(name string)) (stop func() error, err error) {
	return nil, errors.ErrUnsupported
}
