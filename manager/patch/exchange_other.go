//go:build !linux

package patch

import "os"

// What renameWith would do where there is something at the new name.
const (
	exchanging = iota
	failing
)

// renameWith fails: this system has no such call.
func renameWith(_ *os.Root, _, _ string, _ uint) error { return errNoExchange }
