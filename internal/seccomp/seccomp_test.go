package seccomp

import (
	"encoding/json"
	"slices"
	"testing"
)

// never may be allowed whatever the arguments: each is a way out, a way to see others, or a way to harm the host.
var never = calls(`
	acct add_key bpf chroot clock_adjtime clock_settime clone3 delete_module fanotify_init finit_module fsconfig fsmount
	fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load
	keyctl lookup_dcookie mbind mount mount_setattr move_mount move_pages name_to_handle_at open_by_handle_at open_tree
	perf_event_open pidfd_getfd pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl quotactl_fd
	reboot request_key setdomainname sethostname setns settimeofday stime swapoff swapon syslog umount umount2 unshare
	uselib userfaultfd vhangup vm86 modify_ldt open_tree_attr migrate_pages set_mempolicy memfd_secret nfsservctl sched_setattr
	setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat`)

// guarded may be allowed with conditions only.
var guarded = calls(`
	arch_prctl chmod clone creat fallocate fchmod fchmodat fchmodat2 fcntl futex getsockopt ioctl ioprio_set madvise
	memfd_create mknod mknodat mmap open openat personality prctl prlimit64 recvfrom recvmmsg recvmsg renameat2
	sched_setparam sched_setscheduler sendmmsg sendmsg sendto setpriority setsockopt shmget socket socketpair`)

func TestNothingThatHarmsIsAllowed(t *testing.T) {
	for arch := range architectures {
		for _, r := range (Filter{Arch: arch}).Rules() {
			if r.Reason == "" {
				t.Errorf("nobody says why %v may be there", r.Names)
			}
			for _, name := range r.Names {
				switch {
				case r.Errno != 0:
				case slices.Contains(never, name):
					t.Errorf("%s: %s is allowed (%s)", arch, name, r.Reason)
				case slices.Contains(guarded, name) && len(r.Args) == 0:
					t.Errorf("%s: %s is allowed whatever its arguments (%s)", arch, name, r.Reason)
				}
			}
		}
	}
}

// TestEachCallIsNamedInOneWay finds a call that one rule allows and another one refuses, or allows twice.
func TestEachCallIsNamedInOneWay(t *testing.T) {
	for arch := range architectures {
		seen := map[string]Rule{}
		for _, r := range (Filter{Arch: arch}).Rules() {
			if r.Arch != "" && r.Arch != arch {
				continue
			}
			for _, name := range r.Names {
				if other, twice := seen[name]; twice && (len(r.Args) == 0 || len(other.Args) == 0) {
					t.Errorf("%s: %s is there for %q and for %q", arch, name, other.Reason, r.Reason)
				}
				seen[name] = r
			}
		}
	}
}

// TestTheOutlineIsAroundTheProgram: it lets in what the program may let in, and what a runtime needs, and no other call.
func TestTheOutlineIsAroundTheProgram(t *testing.T) {
	for arch := range architectures {
		f := Filter{Arch: arch}
		outline, err := f.Outline()
		if err != nil {
			t.Fatal(err)
		}
		if outline.DefaultAction != "SCMP_ACT_ERRNO" || outline.DefaultErrnoRet != 1 || !slices.Equal(outline.Architectures, []string{architectures[arch]}) ||
			len(outline.Syscalls) != 1 || outline.Syscalls[0].Action != "SCMP_ACT_ALLOW" {
			t.Errorf("%s: the frame is %+v", arch, outline)
		}
		let := outline.Syscalls[0].Names
		for name := range systemNumbers(t, arch) {
			rules := slices.DeleteFunc(f.Rules(), func(r Rule) bool {
				return !slices.Contains(r.Names, name) || r.Arch != "" && r.Arch != arch || r.Errno != 0
			})
			if want := len(rules) > 0 || name == "openat2"; slices.Contains(let, name) != want {
				t.Errorf("%s: %s is in the outline: %t, and should be: %t", arch, name, !want, want)
			}
		}
		for _, name := range never {
			if slices.Contains(let, name) {
				t.Errorf("%s: the outline lets %s in", arch, name)
			}
		}
	}
	if _, err := (Filter{Arch: "riscv64"}).Outline(); err == nil {
		t.Error("an architecture that nobody has thought about has an outline")
	}
}

// TestTheOutlineAsEnginesReadIt: of what they do not know they say nothing, and do without.
func TestTheOutlineAsEnginesReadIt(t *testing.T) {
	text, err := json.Marshal(Profile{Architectures: []string{"x"}, Syscalls: []Syscall{{Names: calls("a b"), Action: actAllow}}})
	want := `{"defaultAction":"","defaultErrnoRet":0,"architectures":["x"],"syscalls":[{"names":["a","b"],"action":"SCMP_ACT_ALLOW"}]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestArm64HasNoOlderNames(t *testing.T) {
	p, err := Filter{Arch: "arm64"}.Outline()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Syscalls {
		for _, older := range []string{"open", "stat", "fork", "arch_prctl"} {
			if slices.Contains(s.Names, older) {
				t.Errorf("arm64 has no %s", older)
			}
		}
	}
}

// TestNothingThatOutlivesARunCanBeGivenToAFile: the second half of the numbers is what the kernel does not look at.
func TestNothingThatOutlivesARunCanBeGivenToAFile(t *testing.T) {
	allowed := asker(t, Filter{Arch: "amd64"})
	for name, number := range map[string]uint64{
		"FS_IOC_SETFLAGS": 0x40086602, "FS_IOC_FSSETXATTR": 0x401C5820, "FS_IOC_SETVERSION": 0x40087602,
		"FS_IOC_ENABLE_VERITY": 0x40806685, "FS_IOC_SET_ENCRYPTION_POLICY": 0x800C6613, "EXT4_IOC_RESIZE_FS": 0x40086610,
		"EXT4_IOC_SWAP_BOOT": 0x6611, "XFS_IOC_ALLOCSP": 0x4030580A, "FIFREEZE": 0xC0045877, "BTRFS_IOC_SUBVOL_CREATE": 0x5000940E,
		"BTRFS_IOC_SUBVOL_SETFLAGS": 0x4008941A, "F2FS_IOC_START_ATOMIC_WRITE": 0xF501, "UFFDIO_API": 0xC018AA3F,
	} {
		for _, number := range []uint64{number, number | 1<<32, number | 0xFFFFFFFF<<32} {
			if allowed("ioctl", 3, number, 0) {
				t.Errorf("%s is allowed as %#x", name, number)
			}
		}
	}
	for name, number := range map[string]uint64{
		"TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIOCLEX": 0x5451, "TIOCGPTN": 0x80045430,
		"SIOCGIFCONF": 0x8912, "FICLONE": 0x40049409, "FIEMAP": 0xC020660B, "FS_IOC_GETFLAGS": 0x80086601,
	} {
		if !allowed("ioctl", 3, number, 0) {
			t.Errorf("%s is not allowed", name)
		}
	}
}

func TestSpaceIsTakenByWriting(t *testing.T) {
	allowed := asker(t, Filter{Arch: "arm64"})
	const keepSize, zeroRange = 1, 0x10
	for _, mode := range []uint64{0, keepSize, zeroRange, zeroRange | keepSize} {
		if allowed("fallocate", 3, mode, 0, 1<<40) {
			t.Errorf("fallocate with mode %#x takes space", mode)
		}
	}
	if !allowed("fallocate", 3, punchHole|keepSize, 0, 1<<20) {
		t.Error("holes cannot be punched")
	}
}
