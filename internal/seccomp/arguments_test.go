package seccomp

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed arguments.md
var argumentsPage string

// takesProcess are the calls of Linux that take the number of a process or of a thread, or what stands for one.
var takesProcess = calls(`
	capget clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime fcntl get_robust_list getpgid getpriority
	getsid ioctl ioprio_get ioprio_set kcmp kill migrate_pages move_pages perf_event_open pidfd_getfd pidfd_open
	pidfd_send_signal prctl prlimit64 process_madvise process_mrelease process_vm_readv process_vm_writev ptrace
	rt_sigqueueinfo rt_tgsigqueueinfo sched_getaffinity sched_getattr sched_getparam sched_getscheduler
	sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler setns setpgid setpriority tgkill
	timer_create tkill wait4 waitid`)

// lines are the cells of the tables that begin with calls.
func lines(page string) (all [][]string) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") {
			all = append(all, strings.Split(line, "|")[1:])
		}
	}
	return all
}

func namesIn(cell string) []string { return strings.Fields(strings.ReplaceAll(cell, "`", " ")) }

// TestEveryArgumentIsClassified holds the page against the rules, for every architecture and with openat2 open and closed.
func TestEveryArgumentIsClassified(t *testing.T) {
	first, second, _ := strings.Cut(argumentsPage, "\n# What a call can do")
	said := map[string]string{}
	for _, cells := range lines(first) {
		for _, name := range namesIn(cells[0]) {
			if _, twice := said[name]; twice {
				t.Errorf("%s is there twice", name)
			}
			said[name] = strings.TrimSpace(cells[1])
		}
		if strings.TrimSpace(cells[2]) == "" {
			t.Errorf("%s: the page gives no reason", cells[0])
		}
	}
	looked := map[string]map[uint]bool{}
	for _, r := range (Filter{}).Rules() {
		if r.Errno != 0 {
			continue
		}
		for _, name := range r.Names {
			if looked[name] == nil {
				looked[name] = map[uint]bool{}
			}
			for _, a := range r.Args {
				looked[name][a.Index] = true
			}
		}
	}
	for name, indexes := range looked {
		if want := strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(indexes))), "[]"); said[name] != want {
			t.Errorf("%s: the rules look at the arguments %q, and the page says %q", name, want, said[name])
		}
	}
	for name := range said {
		if looked[name] == nil {
			t.Errorf("%s is in the page and in no rule", name)
		}
	}
	var processes []string
	for _, cells := range lines(second) {
		processes = append(processes, namesIn(cells[0])...)
	}
	slices.Sort(processes)
	want := slices.DeleteFunc(slices.Clone(takesProcess), func(name string) bool { return looked[name] == nil })
	if !slices.Equal(processes, want) {
		t.Errorf("the page says of %v what they can do to process 1, and the rules let in %v", processes, want)
	}
}

// headerValues are what the kernel's headers call the numbers, as golang.org/x/sys has them.
func headerValues(t *testing.T, files ...string) map[string]uint64 {
	t.Helper()
	dir, err := library()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\s+([A-Z_0-9a-z]+)\s+= (0x[0-9a-f]+|\d+)$`)
	all := map[string]uint64{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, "unix", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range line.FindAllStringSubmatch(string(text), -1) {
			if value, err := strconv.ParseUint(found[2], 0, 64); err == nil {
				all[found[1]] = value
			}
		}
	}
	return all
}

// unknown are the names that golang.org/x/sys does not have. Their numbers are those of the kernel's headers.
var unknown = calls(`
	FIONREAD FIONBIO FIONCLEX FIOCLEX FIOASYNC FIOQSIZE FIOSETOWN FIOGETOWN FIGETBSZ FIEMAP
	FS_IOC_FSGETXATTR FS_IOC_GETVERSION FUTEX_WAIT FUTEX_WAKE FUTEX_FD FUTEX_REQUEUE FUTEX_CMP_REQUEUE FUTEX_WAKE_OP
	FUTEX_LOCK_PI FUTEX_UNLOCK_PI FUTEX_TRYLOCK_PI FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET FUTEX_LOCK_PI2 ARCH_SET_GS ARCH_SET_FS
	ARCH_GET_FS ARCH_GET_GS ARCH_GET_XCOMP_SUPP ARCH_GET_XCOMP_PERM ARCH_REQ_XCOMP_PERM`)

// TestNamesHaveTheirNumbers on both architectures: a number under a wrong name would let something else in.
func TestNamesHaveTheirNumbers(t *testing.T) {
	for arch := range architectures {
		known := headerValues(t, "zerrors_linux.go", "ztypes_linux.go", "zerrors_linux_"+arch+".go", "ztypes_linux_"+arch+".go")
		for _, r := range (Filter{Arch: arch}).Rules() {
			for _, a := range r.Args {
				if a.OneOf == nil {
					continue
				}
				for _, n := range *a.OneOf {
					value, ok := known[n.Name]
					if ok && value != uint64(n.Value) || ok == slices.Contains(unknown, n.Name) {
						t.Errorf("%s: %s is %#x in the rules and %#x (%v) in the headers", arch, n.Name, n.Value, value, ok)
					}
				}
			}
		}
	}
}
