//go:build !linux

package delegation

// renameNew gives a file its name if nothing has that name yet.
func (d *Dir) renameNew(from, to string) error { return d.linkNew(from, to) }
