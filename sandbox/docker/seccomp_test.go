package docker

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
	uselib userfaultfd vhangup vm86 modify_ldt open_tree_attr migrate_pages set_mempolicy memfd_secret nfsservctl`)

// guarded may be allowed with conditions only.
var guarded = calls(`
	chmod clone creat fchmod fchmodat fchmodat2 mknod mknodat open openat personality socket socketpair`)

func TestSeccompAllowsNothingThatHarms(t *testing.T) {
	for arch := range architectures {
		for _, r := range (filter{arch: arch}).rules() {
			if r.reason == "" {
				t.Errorf("nobody says why %v may be there", r.names)
			}
			for _, name := range r.names {
				switch {
				case r.errno != 0:
				case slices.Contains(never, name):
					t.Errorf("%s: %s is allowed (%s)", arch, name, r.reason)
				case slices.Contains(guarded, name) && len(r.args) == 0:
					t.Errorf("%s: %s is allowed whatever its arguments (%s)", arch, name, r.reason)
				}
			}
		}
	}
}

// TestSeccompNamesEachCallInOneWay finds a call that one rule allows and another one refuses, or allows twice.
func TestSeccompNamesEachCallInOneWay(t *testing.T) {
	for arch := range architectures {
		for _, openat2 := range []bool{false, true} {
			seen := map[string]rule{}
			for _, r := range (filter{arch: arch, openat2: openat2}).rules() {
				if r.arch != "" && r.arch != arch {
					continue
				}
				for _, name := range r.names {
					if other, twice := seen[name]; twice && (len(r.args) == 0 || len(other.args) == 0) {
						t.Errorf("%s: %s is there for %q and for %q", arch, name, other.reason, r.reason)
					}
					seen[name] = r
				}
			}
		}
	}
}

func TestSeccompProfileAsTheEngineTakesIt(t *testing.T) {
	strict, err := filter{arch: "amd64"}.profile()
	if err != nil {
		t.Fatal(err)
	}
	var p profileJSON
	if err := json.Unmarshal([]byte(strict), &p); err != nil {
		t.Fatal(err)
	}
	if p.DefaultAction != "SCMP_ACT_ERRNO" || p.DefaultErrnoRet != 1 || !slices.Equal(p.Architectures, []string{"SCMP_ARCH_X86_64"}) {
		t.Errorf("the frame is %+v", profileJSON{p.DefaultAction, p.DefaultErrnoRet, p.Architectures, nil})
	}
	actions := map[string]string{}
	for _, s := range p.Syscalls {
		for _, name := range s.Names {
			actions[name] += s.Action
		}
	}
	if actions["read"] != "SCMP_ACT_ALLOW" || actions["openat2"] != "SCMP_ACT_ERRNO" || actions["mount"] != "" {
		t.Errorf("read %q, openat2 %q, mount %q", actions["read"], actions["openat2"], actions["mount"])
	}
	if _, err := (filter{arch: "riscv64"}).profile(); err == nil {
		t.Error("an architecture that nobody has thought about has a profile")
	}
}

func TestSeccompArm64HasNoOlderNames(t *testing.T) {
	profile, err := filter{arch: "arm64"}.profile()
	if err != nil {
		t.Fatal(err)
	}
	var p profileJSON
	if err := json.Unmarshal([]byte(profile), &p); err != nil {
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
