package gvisor_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/retry"
	"torno/test/prober/verdict"
)

// upstreamRunsc names gVisor's own program of the pinned version, as its module builds it. scripts/compare builds it and sets the name.
const upstreamRunsc = "TORNO_UPSTREAM_RUNSC"

// confines is what keeps one process of the runtime in: what the kernel says of each thread, the filters word for word, and what is open.
type confines struct {
	rights  []string // of each thread, all different ones
	filters []string // of each thread, all different sets
	open    map[string]int
}

// TestOurRunscIsGVisors holds a sandbox of our build of runsc beside one of gVisor's own build, both alive: sentry and gofer have the same rights
// in all threads and the same filters, and hold nothing open of a kind that gVisor's own do not hold.
func TestOurRunscIsGVisors(t *testing.T) {
	program := upstream(t)
	ours, theirs := newYard(t), newYard(t)
	theirs.tools.runsc = program
	theirs.again()
	sameConfines(t, confinesOf(t, ours.box(ours.sleeper().ID), true), confinesOf(t, theirs.box(theirs.sleeper().ID), true))
}

// TestOrdinaryRunscIsGVisors is the same for an ordinary user's watcher, but for the words of the filters: the kernel shows those to root alone.
func TestOrdinaryRunscIsGVisors(t *testing.T) {
	program := upstream(t)
	var both [2]map[string]confines
	for i := range both {
		h := asOrdinary(t)
		if i == 1 {
			h.tools.runsc = program
		}
		l, id, spec := h.trial(t.TempDir(), uint32(os.Geteuid()))
		spec.Process.Argv = []string{"/bin/sleep", "1000"}
		created, err := l.Create(t.Context(), id, spec)
		if err == nil {
			err = launch(t.Context(), l, created)
		}
		if err != nil {
			t.Fatal(err)
		}
		both[i] = confinesOf(t, created.ID, false)
		if err := l.Remove(t.Context(), created); err != nil {
			t.Error(err)
		}
	}
	sameConfines(t, both[0], both[1])
}

// TestOurRunscIsGVisorsForAnOrdinaryUser runs the test above.
func TestOurRunscIsGVisorsForAnOrdinaryUser(t *testing.T) {
	program := upstream(t)
	u := tester(t)
	u.installs(theirCopy, program)
	u.runs("^TestOrdinaryRunscIsGVisors$")
}

// theirCopy is where an ordinary user finds gVisor's own, among the programs of its tests.
const theirCopy = "upstream-runsc"

func upstream(t *testing.T) (program string) {
	t.Helper()
	if dir := os.Getenv(verdict.Programs); dir != "" {
		program = filepath.Join(dir, theirCopy)
		if _, err := os.Stat(program); err == nil {
			return program
		}
	}
	if program = os.Getenv(upstreamRunsc); program == "" {
		t.Skip("NOT SHOWN HERE: make compare builds gVisor's own runsc and shows it; TestTheBuildIsCompared holds that it was done")
	}
	return program
}

func sameConfines(t *testing.T, ours, theirs map[string]confines) {
	t.Helper()
	if names := slices.Sorted(maps.Keys(ours)); !slices.Equal(names, []string{"runsc-gofer", "runsc-sandbox"}) {
		t.Fatalf("a sandbox's processes are %q", names)
	}
	for name, is := range ours {
		want := theirs[name]
		t.Logf("%s: %d kinds of threads, %d sets of filters, open %v beside %v", name, len(is.rights), len(is.filters), is.open, want.open)
		if !slices.Equal(is.rights, want.rights) {
			t.Errorf("%s: threads with %q, gVisor's own with %q", name, is.rights, want.rights)
		}
		if !slices.Equal(is.filters, want.filters) {
			t.Errorf("%s: the filters are not those of gVisor's own", name)
		}
		for kind, n := range is.open {
			if n > want.open[kind] && !strings.HasPrefix(kind, "/root/") { // the child's own files, some of which it has still to open
				t.Errorf("%s: holds %d of %s, gVisor's own %d", name, n, kind, want.open[kind])
			}
		}
	}
}

// confinesOf are those of the sentry and the gofer of a sandbox whose child sleeps, or soon will.
func confinesOf(t *testing.T, box string, filters bool) map[string]confines {
	t.Helper()
	for openOf(t, sentryOf(t, box))["/root/usr/bin/sleep"] == 0 { // before, it is one step behind or ahead of another's
		if err := retry.Pause(t.Context(), retry.Soon); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]confines{}
	for pid, name := range running(t, box) {
		if name != "runsc-sandbox" && name != "runsc-gofer" {
			continue
		}
		if _, twice := all[name]; twice {
			t.Fatalf("there are two of %s", name)
		}
		all[name] = lookAt(t, pid, filters)
	}
	return all
}

func lookAt(t *testing.T, pid int, filters bool) confines {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	threads, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil || len(threads) == 0 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	is := confines{open: openOf(t, dir)}
	for _, thread := range threads {
		asked := map[string]string{}
		for _, field := range []string{"Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			asked[field] = ""
		}
		is.rights = append(is.rights, fmt.Sprint(status(t, filepath.Join(dir, "task", thread.Name(), "status"), asked)))
		if filters {
			tid, _ := strconv.Atoi(thread.Name())
			is.filters = append(is.filters, filtersOf(t, tid))
		}
	}
	slices.Sort(is.rights)
	slices.Sort(is.filters)
	is.rights, is.filters = slices.Compact(is.rights), slices.Compact(is.filters)
	return is
}

// openOf counts a process's descriptors by kind: where they lead to, without numbers and without the names of this test.
func openOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	held, err := filepath.Glob(filepath.Join(dir, "fd", "*"))
	if err != nil || len(held) == 0 {
		t.Fatalf("%d descriptors, %v", len(held), err)
	}
	kinds := map[string]int{}
	for _, one := range held {
		target, err := os.Readlink(one)
		if err != nil {
			continue // closed since
		}
		kind, number, _ := strings.Cut(target, ":[")
		if number == "" {
			kind = regexp.MustCompile(`(?:torno-|Test|/tmp/)[^ ]*/`).ReplaceAllString(target, "…/")
			kind = regexp.MustCompile(`[0-9a-f]{8,}|\d+`).ReplaceAllString(kind, "N")
		}
		kinds[kind]++
	}
	return kinds
}

// filtersOf are the programs on a thread, as the kernel gives them to a tracer.
func filtersOf(t *testing.T, tid int) string {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(tid); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PtraceDetach(tid) }()
	if err := unix.PtraceInterrupt(tid); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(tid, &ws, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	const getFilter = 0x420c // PTRACE_SECCOMP_GET_FILTER
	var all strings.Builder
	for i := uintptr(0); ; i++ {
		n, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(tid), i, 0, 0, 0)
		if errors.Is(errno, unix.ENOENT) {
			return all.String()
		}
		if errno != 0 {
			t.Fatalf("filter %d of thread %d: %v", i, tid, errno)
		}
		steps := make([]unix.SockFilter, n)
		if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(tid), i, uintptr(unsafe.Pointer(&steps[0])), 0, 0); errno != 0 {
			t.Fatalf("filter %d of thread %d: %v", i, tid, errno)
		}
		_ = binary.Write(&all, binary.LittleEndian, steps)
		all.WriteString("\n--\n")
	}
}
