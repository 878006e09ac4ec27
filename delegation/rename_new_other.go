//go:build !linux

package delegation

// renameNew gives a file its name where nothing has it.
func (d *Dir) renameNew(from, to string) error { return d.linkNew(from, to) }
