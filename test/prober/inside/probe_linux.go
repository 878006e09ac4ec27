package inside

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// probe is one thing to try. Without an error it worked.
type probe struct {
	row, name string
	run       func(*Ground) error
}

// Try tries everything, each probe on a thread that ends with it and with whatever the probe did to it.
func Try(g *Ground) []Outcome {
	var all []Outcome
	for _, p := range probes() {
		result := make(chan error)
		go func() {
			runtime.LockOSThread()
			result <- p.run(g)
		}()
		all = append(all, p.outcome(<-result))
	}
	return all
}

// Names are the names of all probes.
func Names() (names []Outcome) {
	for _, p := range probes() {
		names = append(names, Outcome{Row: p.row, Name: p.name})
	}
	return names
}

func probes() []probe {
	return slices.Concat(
		networkProbes(), familyProbes(), identityProbes(), namespaceProbes(), kernelProbes(), processProbes(), fileProbes(),
		deviceProbes(), nameProbes(), setIDProbes(), attributeProbes(), argumentProbes(), allowedProbes(),
		legacyProbes(),
	)
}

// errAbsent says that there is nothing to try it on. errOptional, with it, that a machine need not have it.
var (
	errAbsent   = errors.New("nothing of the kind is there")
	errOptional = errors.New("which not every machine has")
)

// reached says that a call was let through: what was refused, afterwards, is the nonsense that it was given.
type reached struct{ syscall.Errno }

func (p probe) outcome(err error) Outcome {
	o := Outcome{Row: p.row, Name: p.name, Word: Done, Optional: errors.Is(err, errOptional)}
	if err == nil {
		return o
	}
	o.Word, o.Detail = Failed, err.Error()
	var errno syscall.Errno
	var through reached
	switch {
	case errors.As(err, &through):
		o.Word, o.Detail = Done, unix.ErrnoName(through.Errno)
	case errors.Is(err, errAbsent):
		o.Word = Absent
	case errors.As(err, &errno):
		o.Word, o.Detail = wordOf(errno), unix.ErrnoName(errno)
	}
	return o
}

var words = map[Word][]syscall.Errno{
	Refused: {unix.EPERM, unix.EACCES, unix.EROFS},
	Missing: {unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT, unix.EOPNOTSUPP, unix.ENOTTY},
	Absent:  {unix.ENOENT, unix.ENOTDIR, unix.ENODEV, unix.ENXIO, unix.ESRCH, unix.ENETUNREACH, unix.EADDRNOTAVAIL, unix.ECONNREFUSED},
}

func wordOf(errno syscall.Errno) Word {
	for word, all := range words {
		if slices.Contains(all, errno) {
			return word
		}
	}
	return Failed
}

// optional makes a probe whose object not every machine has.
func optional(run func(*Ground) error) func(*Ground) error {
	return func(g *Ground) error {
		if err := run(g); err != nil {
			return fmt.Errorf("%w, %w", err, errOptional)
		}
		return nil
	}
}

const wrong = ^uintptr(0)

// call is a raw system call. Its arguments are wrong in a way that the kernel sees only after it has decided who may
// call, so that another refusal than that is a yes.
func call(number uintptr, args ...uintptr) func(*Ground) error {
	return func(*Ground) error {
		var a [6]uintptr // six arguments are enough for all
		copy(a[:], args)
		_, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		return verdictOf(errno)
	}
}

func verdictOf(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return errno
	}
	return reached{errno}
}

// closed is for probes that open something.
func closed(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// anyOf tries several ways to one thing. One success is enough; otherwise a refusal says more than an absence.
func anyOf(ways ...func() error) error {
	worst := errAbsent
	for _, way := range ways {
		err := way()
		if err == nil {
			return nil
		}
		var errno syscall.Errno
		if errors.As(err, &errno) && wordOf(errno) != Absent {
			worst = err
		}
	}
	return worst
}
