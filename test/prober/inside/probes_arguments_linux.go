package inside

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers that x/sys does not have, or only for other calls.
const (
	ioprioProcess = 1  // IOPRIO_WHO_PROCESS
	requeuePI     = 12 // FUTEX_CMP_REQUEUE_PI
	shmHuge       = 0o4000
)

// argumentProbes are arguments of calls that every program makes, which select code that none needs.
func argumentProbes() []probe {
	return []probe{
		{"C2", "internet packets in sequence", socket(unix.AF_INET, unix.SOCK_SEQPACKET, 0)},
		{"C2", "internet 6 packets in sequence", socket(unix.AF_INET6, unix.SOCK_SEQPACKET, 0)},
		{"C2", "dccp", socket(unix.AF_INET, unix.SOCK_DCCP, 0)},
		{"C2", "the old type for packets", socket(unix.AF_INET, unix.SOCK_PACKET, 0)},
		{"C28", "a line discipline", lineDiscipline},
		{"C28", "a module for bridges", call(unix.SYS_IOCTL, wrong, unix.SIOCBRADDBR)},
		{"C28", "a module for VLANs", call(unix.SYS_IOCTL, wrong, unix.SIOCGIFVLAN)},
		{"C28", "a program in the kernel for a socket", call(unix.SYS_SETSOCKOPT, wrong, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER)},
		{"C28", "a protocol over TCP", call(unix.SYS_SETSOCKOPT, wrong, unix.IPPROTO_TCP, unix.TCP_ULP)},
		{"C28", "a protocol within UDP", call(unix.SYS_SETSOCKOPT, wrong, unix.IPPROTO_UDP, unix.UDP_ENCAP)},
		{"C28", "a byte out of band", call(unix.SYS_SENDTO, wrong, 0, 0, unix.MSG_OOB)},
		{"C28", "requeueing for priorities", call(unix.SYS_FUTEX, 1, requeuePI)},
		{"C28", "memory merged with that of strangers", call(unix.SYS_MADVISE, 0, 0, unix.MADV_MERGEABLE)},
		{"C28", "another description of one's memory", call(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_MAP_SIZE, 1)},
		{"C28", "a core that is shared", call(unix.SYS_PRCTL, unix.PR_SCHED_CORE, wrong)},
		{"C28", "a lease on a file", onFile(lease)},
		{"X2", "huge pages", call(unix.SYS_MMAP, 0, 1, 0, unix.MAP_HUGETLB)},
		{"X2", "huge pages of a file in memory", call(unix.SYS_MEMFD_CREATE, 1, unix.MFD_HUGETLB)},
		{"X2", "huge pages of shared memory", call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 0, shmHuge)},
		{"C21", "limits of process 1", limitsOf(1)},
		{"C21", "priority of process 1", priorityOf(1)},
		{"C21", "priority of all of a user's processes", call(unix.SYS_SETPRIORITY, unix.PRIO_USER, wrong>>1)},
		{"C21", "scheduler of process 1", schedulerOf(1)},
		{"C21", "scheduler of process 1, in memory", call(unix.SYS_SCHED_SETATTR, 1, 1)},
		{"C21", "disk's share of process 1", diskShareOf(1)},
	}
}

// lineDiscipline asks for the line discipline that a terminal has already. The kernel looks for its module first.
func lineDiscipline(*Ground) error {
	return onTerminal(func(terminal uintptr) error {
		usual := int32(0) // N_TTY
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, terminal, unix.TIOCSETD, uintptr(unsafe.Pointer(&usual)))
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// lease makes other processes wait when they open the file.
func lease(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	return err
}

// What follows sets what a process has already, so that it harms none where nothing holds it off.

func limitsOf(pid int) func(*Ground) error {
	return func(*Ground) error {
		var has unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &has); err != nil {
			return err
		}
		return unix.Prlimit(pid, unix.RLIMIT_CPU, &has, nil)
	}
}

func priorityOf(pid int) func(*Ground) error {
	return func(*Ground) error {
		const middle = 20 // the call says 20 less the priority, so that it is never negative
		has, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, pid, middle-has)
	}
}

func schedulerOf(pid uintptr) func(*Ground) error {
	return func(*Ground) error {
		has, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, pid, 0, 0)
		if errno != 0 {
			return errno
		}
		var priority int32
		_, _, errno = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, pid, has, uintptr(unsafe.Pointer(&priority)))
		return verdictOf(errno)
	}
}

func diskShareOf(pid uintptr) func(*Ground) error {
	return func(*Ground) error {
		has, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioProcess, pid, 0)
		if errno != 0 {
			return errno
		}
		_, _, errno = unix.RawSyscall(unix.SYS_IOPRIO_SET, ioprioProcess, pid, has)
		return verdictOf(errno)
	}
}

// ownShare makes the calls of nice, ionice and ulimit.
func ownShare(g *Ground) error {
	if err := limitsOf(0)(g); err != nil {
		return err
	}
	if err := priorityOf(0)(g); err != nil {
		return err
	}
	return schedulerOf(0)(g)
}
