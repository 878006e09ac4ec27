//go:build !linux

package patch

import "os"

// What renameWith would do if the new name is taken.
const (
	exchanging = iota
	failing
)

// renameWith fails, because this system has no such call.
func renameWith(_ *os.Root, _, _ string, _ uint) error { return errNoExchange }
