package units

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Enter puts the walls around the calling thread and all that it executes. The order is systemd's: capabilities last but for the
// filters, of which one could be in the way of the others.
func (w Walls) Enter() error {
	if err := limitFiles(w.OpenFiles); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	if w.NoCore {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return fmt.Errorf("leave no core file: %w", err)
		}
	}
	if w.NoNewCode { // the kernel's own way; systemd has a filter, since some kernels lack it
		if err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); err != nil {
			return fmt.Errorf("execute no memory that could be written: %w", err)
		}
	}
	if w.Capabilities != nil {
		if err := bound(w.Capabilities); err != nil {
			return err
		}
	}
	if w.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("give up new privileges: %w", err)
		}
	}
	filters, err := w.filters()
	if err != nil {
		return err
	}
	for _, f := range filters {
		if err := f.install(); err != nil {
			return err
		}
	}
	return nil
}

// limitFiles is as near to a limit as one may come.
func limitFiles(wanted uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || wanted == 0 {
		return err
	}
	limit.Cur = min(wanted, limit.Max)
	limit.Max = limit.Cur
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

func (w Walls) filters() (all []filter, err error) {
	if w.Families != nil {
		f, err := onlyFamilies(w.Families)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	for _, wall := range []struct {
		wanted bool
		filter func() filter
	}{{w.NoRealtime, noRealtime}, {w.NoSetID, noSetID}, {w.Personality, lockPersonality}, {w.OneABI, oneABI}} {
		if wall.wanted {
			all = append(all, wall.filter())
		}
	}
	return all, nil
}

// capabilities are the capabilities that a unit of ours has ever named.
var capabilities = map[string]uintptr{
	"CAP_CHOWN": unix.CAP_CHOWN, "CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "CAP_FOWNER": unix.CAP_FOWNER, "CAP_SETGID": unix.CAP_SETGID,
	"CAP_SETUID": unix.CAP_SETUID, "CAP_SETFCAP": unix.CAP_SETFCAP, "CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT,
	"CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE,
}

// bound leaves root, from the next program on, with these capabilities.
func bound(names []string) error {
	var keep []uintptr
	for _, name := range names {
		number, ok := capabilities[name]
		if !ok {
			return fmt.Errorf("the capability %s is not known here", name)
		}
		keep = append(keep, number)
	}
	if err := inheritNothing(); err != nil {
		return fmt.Errorf("inherit no capability: %w", err)
	}
	for c := uintptr(0); ; c++ {
		there, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return nil //nolint:nilerr // the kernel knows no more of them
		}
		if there == 0 || slices.Contains(keep, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// inheritNothing empties the set that root's programs get whatever the bounding set says.
func inheritNothing() error {
	var sets [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	return unix.Capset(&header, &sets[0])
}
