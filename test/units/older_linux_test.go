package units

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// older is a program of 32 bits in a machine of 64: it ends with 7, which it says with a system call of its own time.
func older() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80} // mov eax,1; mov ebx,7; int 0x80
	const base, head = 0x08048000, 52 + 32
	le := binary.LittleEndian
	p := append([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1}, make([]byte, 9)...)
	p = le.AppendUint16(p, 2) // an executable
	p = le.AppendUint16(p, 3) // for the 386
	for _, word := range []uint32{1, base + head, 52, 0, 0} {
		p = le.AppendUint32(p, word)
	}
	for _, half := range []uint16{52, 32, 1, 0, 0, 0} {
		p = le.AppendUint16(p, half)
	}
	size := uint32(head + len(code))
	for _, word := range []uint32{1, 0, base, base, size, size, 5, 0x1000} { // one segment, read and executed
		p = le.AppendUint32(p, word)
	}
	return append(p, code...)
}

// errForeign says that this machine does not run such programs, walls or not.
var errForeign = errors.New("not to be had")

// runOlder runs it, and says by what it was ended.
func runOlder(path string) error {
	if runtime.GOARCH != "amd64" {
		return errForeign
	}
	if err := os.WriteFile(path, older(), 0o700); err != nil {
		return err
	}
	err := exec.Command(path).Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() == 7:
		return nil
	case errors.As(err, &ended):
		return err
	}
	return errForeign
}
