package seccomp

import "strings"

// Bits of arguments, the same on both architectures.
const (
	makesFile  = 0o100 | 0o20000000 // O_CREAT, O_TMPFILE: only then does open look at its mode
	setID      = 0o6000             // the set-user-id and set-group-id bits of a mode
	namespaces = 0x7E020000         // CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
	punchHole  = 2                  // FALLOC_FL_PUNCH_HOLE
)

// calls splits a list that is easier to read as a text.
func calls(text string) []string { return strings.Fields(text) }

// first and without are the conditions that the rules need.
func first(value uint64) []Arg              { return []Arg{{0, allBits, value}} }
func without(index uint, bits uint64) []Arg { return []Arg{{index, bits, 0}} }

// request is a request of ioctl, and driver all those of one driver. The kernel looks at the lower half of the argument
// only, so these do too.
func request(number uint64) []Arg { return []Arg{{1, 0xFFFFFFFF, number}} }
func driver(letter uint64) []Arg  { return []Arg{{1, 0xFF00, letter << 8}} }

// node is a mode of one type of file, without the set-id bits.
func node(index uint, kind uint64) []Arg { return []Arg{{index, 0o170000 | setID, kind}} }

// inet is a family of the internet with one of its two usual protocols, or with 0, which chooses between them by the
// socket's type. The others (SCTP, MPTCP, L2TP and more) load modules of the kernel that no sandbox needs.
func inet(family, protocol uint64) []Arg {
	return []Arg{{0, allBits, family}, {2, allBits, protocol}}
}

// rules are the filter. It lets in what ordinary programs need and nothing because it was asked for once; each
// group says why it may be there.
var rules = []Rule{
	{Reason: "bytes go in and out of what is open", Names: calls(`
		read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek close close_range dup dup3
		fcntl flock fsync fdatasync sync syncfs sync_file_range fadvise64 readahead ftruncate truncate
		sendfile splice tee vmsplice copy_file_range cachestat`)},

	// Space is taken by writing, which takes its time, so that the watcher sees a disk that fills up. Programs know file
	// systems that have no fallocate, and so does the C library.
	{Reason: "giving space back (FALLOC_FL_PUNCH_HOLE)", Names: calls(`fallocate`), Args: []Arg{{1, punchHole, punchHole}}},
	{Reason: "taking space without writing", Names: calls(`fallocate`), Args: without(1, punchHole), Errno: eopnotsupp},

	// What is not here changes a file system, or gives a file what outlives the run: a project, flags, a generation, a
	// key, a subvolume.
	{Reason: "terminals, and what any open file is asked (driver T)", Names: calls(`ioctl`), Args: driver('T')},
	{Reason: "sockets (driver 0x89)", Names: calls(`ioctl`), Args: driver(0x89)},
	{Reason: "epoll (driver 0x8A)", Names: calls(`ioctl`), Args: driver(0x8A)},
	{Reason: "which namespace it is (driver 0xB7)", Names: calls(`ioctl`), Args: driver(0xB7)},
	{Reason: "which process it is (driver 0xFF)", Names: calls(`ioctl`), Args: driver(0xFF)},
	{Reason: "the size of a block (FIGETBSZ)", Names: calls(`ioctl`), Args: request(0x00000002)},
	{Reason: "where a file has holes (FIEMAP)", Names: calls(`ioctl`), Args: request(0xC020660B)},
	{Reason: "reading a file's flags (FS_IOC_GETFLAGS)", Names: calls(`ioctl`), Args: request(0x80086601)},
	{Reason: "reading a file's project (FS_IOC_FSGETXATTR)", Names: calls(`ioctl`), Args: request(0x801C581F)},
	{Reason: "reading a file's generation (FS_IOC_GETVERSION)", Names: calls(`ioctl`), Args: request(0x80087601)},
	{Reason: "sharing blocks with a copy (FICLONE)", Names: calls(`ioctl`), Args: request(0x40049409)},
	{Reason: "the same, of a part (FICLONERANGE)", Names: calls(`ioctl`), Args: request(0x4020940D)},
	{Reason: "the same, of equal parts (FIDEDUPERANGE)", Names: calls(`ioctl`), Args: request(0xC0189436)},
	{Reason: "names, directories and what is said about files; the mounts decide what can be reached", Names: calls(`
		faccessat faccessat2 fstat newfstatat statx statfs fstatfs getcwd chdir fchdir getdents64 readlinkat mkdirat
		renameat renameat2 linkat unlinkat symlinkat fchown fchownat utimensat umask
		getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr
		lremovexattr fremovexattr getxattrat listxattrat setxattrat removexattrat
		inotify_init1 inotify_add_watch inotify_rm_watch`)},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`
		dup2 access stat lstat getdents readlink mkdir rmdir rename link unlink symlink chown lchown utime utimes
		futimesat inotify_init`)},

	// A set-user-id file in the workspace would, on the host, run with the rights of the workspace's owner, and the
	// parent or any user who can reach it could run it. nosuid is only about our own mount. openat2 and io_uring hide
	// the mode from this filter, so they are not to be had.
	{Reason: "opening what is there: no O_CREAT, no O_TMPFILE", Names: calls(`openat`), Args: without(2, makesFile)},
	{Reason: "making files, with a mode that has no set-id bits", Names: calls(`openat`), Args: without(3, setID)},
	// No devices: also not the one without a number, which overlay file systems take for a sign that a file is gone.
	{Reason: "making FIFOs without set-id bits", Names: calls(`mknodat`), Args: node(2, 0o010000)},
	{Reason: "the same, sockets", Names: calls(`mknodat`), Args: node(2, 0o140000)},
	{Reason: "the same, plain files", Names: calls(`mknodat`), Args: node(2, 0o100000)},
	{Reason: "the same, plain files that have no type", Names: calls(`mknodat`), Args: node(2, 0)},
	{Reason: "changing modes to ones that have no set-id bits", Names: calls(`fchmod`), Args: without(1, setID)},
	{Reason: "changing modes to ones that have no set-id bits", Names: calls(`fchmodat fchmodat2`), Args: without(2, setID)},
	{Reason: "opening what is there, by its older name", Arch: "amd64", Names: calls(`open`), Args: without(1, makesFile)},
	{Reason: "making files without set-id bits, by its older name", Arch: "amd64", Names: calls(`open`), Args: without(2, setID)},
	{Reason: "making and changing files without set-id bits, by their older names", Arch: "amd64", Names: calls(`creat chmod`), Args: without(1, setID)},
	{Reason: "making FIFOs without set-id bits, by its older name", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o010000)},
	{Reason: "the same, sockets", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o140000)},
	{Reason: "the same, plain files", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0o100000)},
	{Reason: "the same, plain files that have no type", Arch: "amd64", Names: calls(`mknod`), Args: node(1, 0)},

	{Reason: "memory of one's own", Names: calls(`
		brk mmap mprotect munmap mremap madvise mincore msync mlock mlock2 mlockall munlock munlockall memfd_create
		pkey_alloc pkey_free pkey_mprotect membarrier mseal remap_file_pages`)},
	{Reason: "processes and threads, with no flag for a new namespace", Names: calls(`clone`), Args: without(0, namespaces)},
	{Reason: "processes and threads", Names: calls(`
		execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid getsid setsid kill tkill tgkill
		pidfd_open pidfd_send_signal prctl set_tid_address rseq set_robust_list get_robust_list prlimit64 getrlimit
		setrlimit getrusage times getpriority setpriority ioprio_get ioprio_set process_mrelease restart_syscall getcpu
		sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
		sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
		sched_yield`)},
	{Reason: "the same, by its older names, and the thread's base register", Arch: "amd64", Names: calls(`
		fork vfork getpgrp arch_prctl`)},
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
		ppoll pselect6 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 eventfd2 pipe2 futex futex_waitv futex_wake
		futex_wait futex_requeue`)},
	{Reason: "the same, by its older names", Arch: "amd64", Names: calls(`
		poll select epoll_create epoll_wait eventfd pipe`)},
	{Reason: "shared memory, semaphores and queues, in an ipc namespace of one's own", Names: calls(`
		shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
		mq_timedsend mq_timedreceive mq_notify mq_getsetattr`)},

	// A sandbox has a network namespace of its own with nothing but loopback in it. Other families, AF_VSOCK above
	// all, do not care about it, or are known for their holes.
	{Reason: "sockets of the unix family (AF_UNIX)", Names: calls(`socket socketpair`), Args: first(1)},
	{Reason: "sockets of the internet (AF_INET), which reach the loopback", Names: calls(`socket`), Args: inet(2, 0)},
	{Reason: "the same, TCP by name", Names: calls(`socket`), Args: inet(2, 6)},
	{Reason: "the same, UDP by name", Names: calls(`socket`), Args: inet(2, 17)},
	{Reason: "sockets of the internet (AF_INET6), which reach the loopback", Names: calls(`socket`), Args: inet(10, 0)},
	{Reason: "the same, TCP by name", Names: calls(`socket`), Args: inet(10, 6)},
	{Reason: "the same, UDP by name", Names: calls(`socket`), Args: inet(10, 17)},
	{Reason: "asking for the interfaces, as getifaddrs does (AF_NETLINK with NETLINK_ROUTE)", Names: calls(`socket`), Args: []Arg{{0, allBits, 16}, {2, allBits, 0}}},
	{Reason: "using a socket", Names: calls(`
		bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt sendto recvfrom sendmsg recvmsg
		sendmmsg recvmmsg shutdown`)},

	{Reason: "asking who one is, and becoming it again: without capabilities nobody becomes another", Names: calls(`
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
		lsm_set_self_attr lsm_list_modules file_getattr file_setattr`)},
}

// openat2 takes its mode in memory, where no filter sees it, so that it could make a set-id file. It is refused, unless
// the engine's own runtime needs it behind the filter, as runc from 1.2.8 and 1.3.3 on does: there no sandbox would
// start without it. The trial at start-up finds out.
var (
	openat2Refused = Rule{Reason: "its mode cannot be looked at", Names: calls(`openat2`), Errno: enosys}
	openat2Allowed = Rule{Reason: "the engine's runtime uses it behind the filter", Names: calls(`openat2`)}
)
