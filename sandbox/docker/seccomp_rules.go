package docker

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
func first(value uint64) []argument              { return []argument{{0, allBits, value}} }
func without(index uint, bits uint64) []argument { return []argument{{index, bits, 0}} }

// request is a request of ioctl, and driver all those of one driver. The kernel looks at the lower half of the argument
// only, so these do too.
func request(number uint64) []argument { return []argument{{1, 0xFFFFFFFF, number}} }
func driver(letter uint64) []argument  { return []argument{{1, 0xFF00, letter << 8}} }

// node is a mode of one type of file, without the set-id bits.
func node(index uint, kind uint64) []argument { return []argument{{index, 0o170000 | setID, kind}} }

// inet is a family of the internet with one of its two usual protocols, or with 0, which chooses between them by the
// socket's type. The others (SCTP, MPTCP, L2TP and more) load modules of the kernel that no sandbox needs.
func inet(family, protocol uint64) []argument {
	return []argument{{0, allBits, family}, {2, allBits, protocol}}
}

// seccompRules are the filter. It lets in what ordinary programs need and nothing because it was asked for once; each
// group says why it may be there.
var seccompRules = []rule{
	{reason: "bytes go in and out of what is open", names: calls(`
		read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek close close_range dup dup3
		fcntl flock fsync fdatasync sync syncfs sync_file_range fadvise64 readahead ftruncate truncate
		sendfile splice tee vmsplice copy_file_range cachestat`)},

	// Space is taken by writing, which takes its time, so that the watcher sees a disk that fills up. Programs know file
	// systems that have no fallocate, and so does the C library.
	{reason: "giving space back (FALLOC_FL_PUNCH_HOLE)", names: calls(`fallocate`), args: []argument{{1, punchHole, punchHole}}},
	{reason: "taking space without writing", names: calls(`fallocate`), args: without(1, punchHole), errno: eopnotsupp},

	// What is not here changes a file system, or gives a file what outlives the run: a project, flags, a generation, a
	// key, a subvolume.
	{reason: "terminals, and what any open file is asked (driver T)", names: calls(`ioctl`), args: driver('T')},
	{reason: "sockets (driver 0x89)", names: calls(`ioctl`), args: driver(0x89)},
	{reason: "epoll (driver 0x8A)", names: calls(`ioctl`), args: driver(0x8A)},
	{reason: "which namespace it is (driver 0xB7)", names: calls(`ioctl`), args: driver(0xB7)},
	{reason: "which process it is (driver 0xFF)", names: calls(`ioctl`), args: driver(0xFF)},
	{reason: "the size of a block (FIGETBSZ)", names: calls(`ioctl`), args: request(0x00000002)},
	{reason: "where a file has holes (FIEMAP)", names: calls(`ioctl`), args: request(0xC020660B)},
	{reason: "reading a file's flags (FS_IOC_GETFLAGS)", names: calls(`ioctl`), args: request(0x80086601)},
	{reason: "reading a file's project (FS_IOC_FSGETXATTR)", names: calls(`ioctl`), args: request(0x801C581F)},
	{reason: "reading a file's generation (FS_IOC_GETVERSION)", names: calls(`ioctl`), args: request(0x80087601)},
	{reason: "sharing blocks with a copy (FICLONE)", names: calls(`ioctl`), args: request(0x40049409)},
	{reason: "the same, of a part (FICLONERANGE)", names: calls(`ioctl`), args: request(0x4020940D)},
	{reason: "the same, of equal parts (FIDEDUPERANGE)", names: calls(`ioctl`), args: request(0xC0189436)},
	{reason: "names, directories and what is said about files; the mounts decide what can be reached", names: calls(`
		faccessat faccessat2 fstat newfstatat statx statfs fstatfs getcwd chdir fchdir getdents64 readlinkat mkdirat
		renameat renameat2 linkat unlinkat symlinkat fchown fchownat utimensat umask
		getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr
		lremovexattr fremovexattr getxattrat listxattrat setxattrat removexattrat
		inotify_init1 inotify_add_watch inotify_rm_watch`)},
	{reason: "the same, by its older names", arch: "amd64", names: calls(`
		dup2 access stat lstat getdents readlink mkdir rmdir rename link unlink symlink chown lchown utime utimes
		futimesat inotify_init`)},

	// A set-user-id file in the workspace would, on the host, run with the rights of the workspace's owner, and the
	// parent or any user who can reach it could run it. nosuid is only about our own mount. openat2 and io_uring hide
	// the mode from this filter, so they are not to be had.
	{reason: "opening what is there: no O_CREAT, no O_TMPFILE", names: calls(`openat`), args: without(2, makesFile)},
	{reason: "making files, with a mode that has no set-id bits", names: calls(`openat`), args: without(3, setID)},
	// No devices: also not the one without a number, which overlay file systems take for a sign that a file is gone.
	{reason: "making FIFOs without set-id bits", names: calls(`mknodat`), args: node(2, 0o010000)},
	{reason: "the same, sockets", names: calls(`mknodat`), args: node(2, 0o140000)},
	{reason: "the same, plain files", names: calls(`mknodat`), args: node(2, 0o100000)},
	{reason: "the same, plain files that have no type", names: calls(`mknodat`), args: node(2, 0)},
	{reason: "changing modes to ones that have no set-id bits", names: calls(`fchmod`), args: without(1, setID)},
	{reason: "changing modes to ones that have no set-id bits", names: calls(`fchmodat fchmodat2`), args: without(2, setID)},
	{reason: "opening what is there, by its older name", arch: "amd64", names: calls(`open`), args: without(1, makesFile)},
	{reason: "making files without set-id bits, by its older name", arch: "amd64", names: calls(`open`), args: without(2, setID)},
	{reason: "making and changing files without set-id bits, by their older names", arch: "amd64", names: calls(`creat chmod`), args: without(1, setID)},
	{reason: "making FIFOs without set-id bits, by its older name", arch: "amd64", names: calls(`mknod`), args: node(1, 0o010000)},
	{reason: "the same, sockets", arch: "amd64", names: calls(`mknod`), args: node(1, 0o140000)},
	{reason: "the same, plain files", arch: "amd64", names: calls(`mknod`), args: node(1, 0o100000)},
	{reason: "the same, plain files that have no type", arch: "amd64", names: calls(`mknod`), args: node(1, 0)},

	{reason: "memory of one's own", names: calls(`
		brk mmap mprotect munmap mremap madvise mincore msync mlock mlock2 mlockall munlock munlockall memfd_create
		pkey_alloc pkey_free pkey_mprotect membarrier mseal remap_file_pages`)},
	{reason: "processes and threads, with no flag for a new namespace", names: calls(`clone`), args: without(0, namespaces)},
	{reason: "processes and threads", names: calls(`
		execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid getsid setsid kill tkill tgkill
		pidfd_open pidfd_send_signal prctl set_tid_address rseq set_robust_list get_robust_list prlimit64 getrlimit
		setrlimit getrusage times getpriority setpriority ioprio_get ioprio_set process_mrelease restart_syscall getcpu
		sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
		sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
		sched_yield`)},
	{reason: "the same, by its older names, and the thread's base register", arch: "amd64", names: calls(`
		fork vfork getpgrp arch_prctl`)},
	{reason: "the kernel's way back from a probe that the host has set; it does nothing else", arch: "amd64", names: calls(`
		uretprobe uprobe`)},
	{reason: "signals", names: calls(`
		rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
		rt_tgsigqueueinfo sigaltstack signalfd4`)},
	{reason: "the same, by its older names", arch: "amd64", names: calls(`pause alarm signalfd`)},
	{reason: "reading clocks and being woken; none can be set", names: calls(`
		clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday getitimer setitimer timer_create timer_delete
		timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime`)},
	{reason: "the same, by its older name", arch: "amd64", names: calls(`time`)},
	{reason: "waiting for files and for each other", names: calls(`
		ppoll pselect6 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 eventfd2 pipe2 futex futex_waitv futex_wake
		futex_wait futex_requeue`)},
	{reason: "the same, by its older names", arch: "amd64", names: calls(`
		poll select epoll_create epoll_wait eventfd pipe`)},
	{reason: "shared memory, semaphores and queues, in an ipc namespace of one's own", names: calls(`
		shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
		mq_timedsend mq_timedreceive mq_notify mq_getsetattr`)},

	// A sandbox has a network namespace of its own with nothing but loopback in it. Other families, AF_VSOCK above
	// all, do not care about it, or are known for their holes.
	{reason: "sockets of the unix family (AF_UNIX)", names: calls(`socket socketpair`), args: first(1)},
	{reason: "sockets of the internet (AF_INET), which reach the loopback", names: calls(`socket`), args: inet(2, 0)},
	{reason: "the same, TCP by name", names: calls(`socket`), args: inet(2, 6)},
	{reason: "the same, UDP by name", names: calls(`socket`), args: inet(2, 17)},
	{reason: "sockets of the internet (AF_INET6), which reach the loopback", names: calls(`socket`), args: inet(10, 0)},
	{reason: "the same, TCP by name", names: calls(`socket`), args: inet(10, 6)},
	{reason: "the same, UDP by name", names: calls(`socket`), args: inet(10, 17)},
	{reason: "asking for the interfaces, as getifaddrs does (AF_NETLINK with NETLINK_ROUTE)", names: calls(`socket`), args: []argument{{0, allBits, 16}, {2, allBits, 0}}},
	{reason: "using a socket", names: calls(`
		bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt sendto recvfrom sendmsg recvmsg
		sendmmsg recvmmsg shutdown`)},

	{reason: "asking who one is, and becoming it again: without capabilities nobody becomes another", names: calls(`
		getuid geteuid getgid getegid getresuid getresgid getgroups capget capset setuid setgid setreuid setregid
		setresuid setresgid setgroups setfsuid setfsgid`)},
	{reason: "facts that are the same for everybody", names: calls(`uname sysinfo getrandom`)},
	{reason: "locking oneself in further, as sandboxes within an agent do", names: calls(`
		seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self`)},
	{reason: "the personality of a Linux program (0)", names: calls(`personality`), args: first(0)},
	{reason: "the same, showing the older version scheme (0x20000)", names: calls(`personality`), args: first(0x0020000)},
	{reason: "asking for the present personality (0xffffffff)", names: calls(`personality`), args: first(0xFFFFFFFF)},

	{reason: "programs know what to do on a kernel without them, and with EPERM they would give up", errno: enosys, names: calls(`
		clone3 io_uring_setup io_uring_enter io_uring_register statmount listmount lsm_get_self_attr
		lsm_set_self_attr lsm_list_modules file_getattr file_setattr`)},
}

// openat2 takes its mode in memory, where no filter sees it, so that it could make a set-id file. It is refused, unless
// the engine's own runtime needs it behind the filter, as runc from 1.2.8 and 1.3.3 on does: there no sandbox would
// start without it. The trial at start-up finds out.
var (
	openat2Refused = rule{reason: "its mode cannot be looked at", names: calls(`openat2`), errno: enosys}
	openat2Allowed = rule{reason: "the engine's runtime uses it behind the filter", names: calls(`openat2`)}
)
