package seccomp

import (
	"slices"
	"strings"
)

// Bits of arguments, the same on both architectures.
const (
	makesFile  = 0o100 | 0o20000000 // O_CREAT, O_TMPFILE: only then does open look at its mode
	setID      = 0o6000             // the set-user-id and set-group-id bits of a mode
	namespaces = 0x7E020000         // CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
	punchHole  = 2                  // FALLOC_FL_PUNCH_HOLE

	// MSG_PEEK, DONTROUTE, CTRUNC, TRUNC, DONTWAIT, EOR, WAITALL, CONFIRM, ERRQUEUE, NOSIGNAL, MORE, WAITFORONE, FASTOPEN
	// and CMSG_CLOEXEC.
	messageFlags = 0x6001E9EE
)

// calls splits a list of names. The lists are easier to read as text.
func calls(text string) []string { return strings.Fields(text) }

// first makes the condition that the first argument equals a value; without, that an argument has none of the bits.
func first(value uint64) []Arg              { return []Arg{{Mask: allBits, Value: value}} }
func without(index uint, bits uint64) []Arg { return []Arg{{Index: index, Mask: bits}} }

// is makes the condition that an argument equals a value. The kernel looks only at the lower half of such an argument.
func is(index uint, value uint64) Arg { return Arg{Index: index, Mask: lower, Value: value} }

// node makes the condition that a mode is for one type of file and has no set-id bits.
func node(index uint, kind uint64) []Arg {
	return []Arg{{Index: index, Mask: 0o170000 | setID, Value: kind}}
}

// family makes the conditions for an address family with a type and a protocol. either is a bit that the family may
// have as well, which lets two families in.
func family(value, either uint64, kind Arg, protocol uint64) []Arg {
	return []Arg{{Index: 0, Mask: allBits &^ either, Value: value}, kind, is(2, protocol)}
}

// inet makes the conditions for AF_INET (2) or AF_INET6 (10) with one of their two usual types, and that type's
// protocol by number or 0. Other protocols (SCTP, DCCP, MPTCP, L2TP and more) load modules of the kernel that no
// sandbox needs.
func inet(kind Arg, protocol uint64) []Arg { return family(2, 8, kind, protocol) }

// rules are the filter. They let in the calls that ordinary programs need. No call is here only because somebody asked
// for it once; each group says why it may be here.
var rules = slices.Concat(optionRules(), []Rule{
	{Reason: "reading and writing open files", Names: calls(`
		read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek close close_range dup dup3
		flock fsync fdatasync sync syncfs sync_file_range fadvise64 readahead ftruncate truncate
		sendfile splice tee vmsplice copy_file_range cachestat`)},

	// Programs must take space by writing. Writing takes time, so the watcher sees a disk that fills up. Programs and
	// the C library know how to do without fallocate, because some file systems do not have it.
	{Reason: "giving space back (FALLOC_FL_PUNCH_HOLE)", Names: calls(`fallocate`), Args: []Arg{{Index: 1, Mask: punchHole, Value: punchHole}}},
	{Reason: "taking space without writing", Names: calls(`fallocate`), Args: without(1, punchHole), Errno: eopnotsupp},

	{Reason: "requests to open files, terminals and sockets", Names: calls(`ioctl`), Args: []Arg{requests}},
	{Reason: "flags, copies and locks of open files", Names: calls(`fcntl`), Args: []Arg{commands}},
	{Reason: "names, directories and attributes of files; the mounts decide which files can be reached", Names: calls(`
		faccessat faccessat2 fstat newfstatat statx statfs fstatfs getcwd chdir fchdir getdents64 readlinkat mkdirat
		renameat linkat unlinkat symlinkat fchown fchownat utimensat umask
		getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr getxattrat listxattrat
		inotify_init1 inotify_add_watch inotify_rm_watch`)},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`
		dup2 access stat lstat getdents readlink mkdir rmdir rename link unlink symlink chown lchown utime utimes
		futimesat inotify_init`)},

	// RENAME_WHITEOUT leaves a device with the number 0 behind. Overlay file systems take it for a sign that a file is
	// gone.
	{Reason: "renaming, without leaving a device behind (RENAME_WHITEOUT)", Names: calls(`renameat2`), Args: without(4, lower&^3)},
	// Access lists give rights to other users, and an overlay obeys user.overlay.*. Both outlive the run, and a filter
	// does not see the attributes' names. Programs know how to do without attributes, because some file systems have
	// none.
	{Reason: "a file's attributes outlive the run", Errno: eopnotsupp, Names: calls(`
		setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat`)},

	// On the host a set-user-id file in the workspace would run with the rights of the workspace's owner. The parent,
	// or any user who can reach the file, could run it. nosuid protects only our own mount. openat2 and io_uring hide
	// the mode from this filter, so they are refused.
	{Reason: "opening existing files: no O_CREAT, no O_TMPFILE", Names: calls(`openat`), Args: without(2, makesFile)},
	{Reason: "making files, with a mode that has no set-id bits", Names: calls(`openat`), Args: without(3, setID)},
	// No devices, not even the device with the number 0, which overlay file systems take for a sign that a file is
	// gone.
	{Reason: "making FIFOs without set-id bits", Names: calls(`mknodat`), Args: node(2, 0o010000)},
	{Reason: "the same, sockets", Names: calls(`mknodat`), Args: node(2, 0o140000)},
	{Reason: "the same, plain files", Names: calls(`mknodat`), Args: node(2, 0o100000)},
	{Reason: "the same, plain files that have no type", Names: calls(`mknodat`), Args: node(2, 0)},
	{Reason: "changing modes to ones that have no set-id bits", Names: calls(`fchmod`), Args: without(1, setID)},
	{Reason: "changing modes to ones that have no set-id bits", Names: calls(`fchmodat fchmodat2`), Args: without(2, setID)},
	{Reason: "opening existing files, by its older name", Arch: "amd64", Names: calls(`open`), Args: without(1, makesFile)},
	{Reason: "making files without set-id bits, by its older name", Arch: "amd64", Names: calls(`open`), Args: without(2, setID)},
	{Reason: "making and changing files without set-id bits, by their older names", Arch: "amd64", Names: calls(`creat chmod`), Args: without(1, setID)},
	{Reason: "making FIFOs without set-id bits, by its older name", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o010000)},
	{Reason: "the same, sockets", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o140000)},
	{Reason: "the same, plain files", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o100000)},
	{Reason: "the same, plain files that have no type", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0)},

	{Reason: "memory of one's own", Names: calls(`
		brk mprotect munmap mremap mincore msync mlock mlock2 mlockall munlock munlockall
		pkey_alloc pkey_free pkey_mprotect membarrier mseal remap_file_pages`)},
	// No memory limit counts the machine's huge pages.
	{Reason: "the same, without the machine's huge pages (MAP_HUGETLB)", Names: calls(`mmap`), Args: without(3, 0x40000)},
	{Reason: "the same, without them (MFD_HUGETLB)", Names: calls(`memfd_create`), Args: without(1, lower&^0x1B)},
	{Reason: "advice about memory", Names: calls(`madvise`), Args: []Arg{advices}},
	{Reason: "processes and threads, with no flag for a new namespace", Names: calls(`clone`), Args: without(0, namespaces)},
	{Reason: "processes and threads", Names: calls(`
		execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid getsid setsid kill tkill tgkill
		pidfd_open pidfd_send_signal set_tid_address rseq set_robust_list get_robust_list getrlimit
		setrlimit getrusage times getpriority ioprio_get process_mrelease restart_syscall getcpu
		sched_getaffinity sched_setaffinity sched_getattr sched_getparam
		sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
		sched_yield`)},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`fork vfork getpgrp`)},
	{Reason: "settings of a process for itself", Names: calls(`prctl`), Args: []Arg{processOptions}},
	{Reason: "a thread's base registers, and leave to use big ones", Arch: "amd64", Names: calls(`arch_prctl`), Args: []Arg{threadOptions}},
	// The kernel lets a process change the limits of the same user's other processes, and init belongs to the same
	// user. A process could set init's limits to zero; then init would end, and the sandbox with it. A number other
	// than 0 may be one of init's threads.
	{Reason: "one's own limits", Names: calls(`prlimit64`), Args: []Arg{is(0, 0)}},
	{Reason: "reading the limits of others", Names: calls(`prlimit64`), Args: []Arg{{Index: 2, Mask: allBits}}},
	{Reason: "one's own share of the processor", Names: calls(`sched_setscheduler`), Args: []Arg{is(0, 0), policies}},
	{Reason: "one's own share of the processor", Names: calls(`sched_setparam`), Args: []Arg{is(0, 0)}},
	{Reason: "one's own share of the processor (PRIO_PROCESS)", Names: calls(`setpriority`), Args: []Arg{is(1, 0), is(0, 0)}},
	{Reason: "one's own share of the disk (IOPRIO_WHO_PROCESS)", Names: calls(`ioprio_set`), Args: []Arg{is(1, 0), is(0, 1)}},
	{Reason: "the kernel's way back from a probe that the host has set; it does nothing else", Arch: "amd64", Names: calls(`
		uretprobe uprobe`)},
	{Reason: "signals", Names: calls(`
		rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
		rt_tgsigqueueinfo sigaltstack signalfd4`)},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`pause alarm signalfd`)},
	{Reason: "reading clocks and being woken; none can be set", Names: calls(`
		clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday getitimer setitimer timer_create timer_delete
		timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime`)},
	{Reason: "the same, by its older name", Arch: "amd64", Names: calls(`time`)},
	{Reason: "waiting for files and for each other", Names: calls(`
		ppoll pselect6 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 eventfd2 pipe2 futex_waitv futex_wake
		futex_wait futex_requeue`)},
	{Reason: "the same, in one call with many operations", Names: calls(`futex`), Args: []Arg{futexes}},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`
		poll select epoll_create epoll_wait eventfd pipe`)},
	{Reason: "shared memory, semaphores and queues, in an ipc namespace of one's own", Names: calls(`
		shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
		mq_timedsend mq_timedreceive mq_notify mq_getsetattr`)},
	{Reason: "the same, without the machine's huge pages (SHM_HUGETLB)", Names: calls(`shmget`), Args: without(2, 0o4000)},

	// A sandbox has its own network namespace with nothing but loopback in it. Other families, above all AF_VSOCK,
	// ignore the namespace or are known for their holes.
	{Reason: "sockets of the unix family (AF_UNIX)", Names: calls(`socket socketpair`), Args: []Arg{{Mask: allBits, Value: 1}, unixTypes}},
	{Reason: "TCP (AF_INET, AF_INET6), which reaches the loopback", Names: calls(`socket`), Args: inet(stream, 0)},
	{Reason: "the same, by name", Names: calls(`socket`), Args: inet(stream, 6)},
	{Reason: "UDP, in the same way", Names: calls(`socket`), Args: inet(datagram, 0)},
	{Reason: "the same, by name", Names: calls(`socket`), Args: inet(datagram, 17)},
	{Reason: "asking for the interfaces, as getifaddrs does (AF_NETLINK with NETLINK_ROUTE)", Names: calls(`socket`), Args: family(16, 0, routeTypes, 0)},
	{Reason: "using a socket", Names: calls(`
		bind connect listen accept accept4 getsockname getpeername shutdown`)},
	// MSG_OOB keeps a byte apart, in code that no tool uses and that had holes. The code for zero copies had holes,
	// too.
	{Reason: "sending and receiving, with no byte out of band (MSG_OOB) and no zero copy", Names: calls(`
		sendto recvfrom sendmmsg recvmmsg`), Args: without(3, lower&^messageFlags)},
	{Reason: "the same", Names: calls(`sendmsg recvmsg`), Args: without(2, lower&^messageFlags)},

	{Reason: "asking for one's own ids, and setting them again: without capabilities no process gets other ids", Names: calls(`
		getuid geteuid getgid getegid getresuid getresgid getgroups capget capset setuid setgid setreuid setregid
		setresuid setresgid setgroups setfsuid setfsgid`)},
	{Reason: "facts that are the same for everybody", Names: calls(`uname sysinfo getrandom`)},
	{Reason: "locking oneself in further, as sandboxes within an agent do", Names: calls(`
		seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self`)},
	{Reason: "the personality of a Linux program (0)", Names: calls(`personality`), Args: first(0)},
	{Reason: "the same, showing the older version scheme (0x20000)", Names: calls(`personality`), Args: first(0x0020000)},
	{Reason: "asking for the present personality (0xffffffff)", Names: calls(`personality`), Args: first(0xFFFFFFFF)},

	{Reason: "programs know what to do on a kernel without them, and with EPERM they would give up", Errno: enosys, Names: calls(`
		clone3 io_uring_setup io_uring_enter io_uring_register statmount listmount lsm_get_self_attr
		lsm_set_self_attr lsm_list_modules file_getattr file_setattr sched_setattr`)},
	{Reason: "its mode is in memory, where no filter sees it, so that it could make a set-id file", Errno: enosys, Names: calls(`openat2`)},
})
