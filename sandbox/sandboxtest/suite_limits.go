package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

var limitCases = []testCase{
	{"private file systems fill up", privateFillsUp},
	{"processes are bounded", processesBounded},
	{"open files are bounded", openFilesBounded},
	{"a file is bounded", fileBounded},
	{"memory ends a child and not the agent", childOutOfMemory},
	{"processors are bounded", processorsBounded},
}

// enforced skips a case whose guarantee the launcher does not give.
func (b *bench) enforced(key sandbox.GuaranteeKey) {
	b.Helper()
	if g := b.check()[key]; !g.Enforced {
		b.Skipf("%s is not enforced here: %s", key, g.By)
	}
}

func privateFillsUp(b *bench) {
	b.enforced(sandbox.PrivateTmp)
	spec := b.script(`for dir; do
		head -c 33554432 /dev/zero >$dir/fill && echo "$dir is endless"
		stat -c %s $dir/fill || exit 1
	done`, "/tmp", "/home/agent", "/dev/shm")
	spec.Limits.Tmp, spec.Limits.Home, spec.Limits.Shm = 4*mib, 6*mib, 2*mib
	r := b.runs(spec)
	b.succeeds(r)
	b.same("the sizes that files reached", r.stdout, fmt.Sprintf("%d\n%d\n%d\n", 4*mib, 6*mib, 2*mib))
}

func processesBounded(b *bench) {
	b.enforced(sandbox.PidsLimit)
	spec := b.script(`i=0; while sleep 1000000 & do i=$((i+1)); echo $i; done`)
	spec.Limits.Pids = 40
	begun := strings.Fields(string(b.runs(spec).stdout))
	// The shell counts among the 40. The agent may also get the processes that init could have started.
	if n := len(begun); n < 39 || n >= 40+runfile.Tasks {
		b.Errorf("%d processes could be started beside the shell, where the agent may have 40 in all", n)
	}
}

func openFilesBounded(b *bench) {
	b.enforced(sandbox.OpenFilesLimit)
	spec := b.script(`ulimit -Sn; ulimit -Hn; ulimit -n 334 2>/dev/null && echo raised`)
	spec.Limits.OpenFiles = 333
	b.same("stdout", b.runs(spec).stdout, "333\n333\n")
}

func fileBounded(b *bench) {
	b.enforced(sandbox.FileSizeLimit)
	spec := b.script(`head -c 4194304 /dev/zero >big && echo endless`)
	spec.Limits.FileSize = 2 * mib
	b.same("stdout", b.runs(spec).stdout, "")
	if info, err := os.Stat(filepath.Join(b.home, "big")); err != nil || info.Size() != 2*mib {
		b.Errorf("the file that may have 2 MiB: %v, %v", info, err)
	}
}

func childOutOfMemory(b *bench) {
	b.enforced(sandbox.MemoryLimit)
	spec := b.script(`tail /dev/zero; echo $?`)
	spec.Limits.Memory = 48 * mib
	r := b.runs(spec)
	if b.ownKernel() { // to the host the whole sandbox is one process, so lack of memory ends all of it
		if r.exit.Code != 137 || !r.exit.OutOfMemory {
			b.Errorf("it ended as %+v", r.exit)
		}
		return
	}
	b.same("stdout", r.stdout, "137\n")
	b.succeeds(r)
}

// processorsBounded fails only if the child gets more than allowed. On a busy machine it gets less.
func processorsBounded(b *bench) {
	b.enforced(sandbox.CPULimit)
	spec := b.probe("burn")
	spec.Limits.CPUs = 400
	r := b.runs(spec)
	got, err := strconv.ParseFloat(strings.TrimSpace(string(r.stdout)), 64)
	if b.ownKernel() { // its clock shows how long it wanted to run, and the host also counts its start
		const start = 300 * time.Millisecond
		got = max(r.exit.CPUTime-start, 0).Seconds() / r.exit.FinishedAt.Sub(r.exit.StartedAt).Seconds()
	}
	if err != nil || got < 0.01 || got > 0.55 {
		b.Errorf("it used %q processors of the 0.4 that are allowed (%v)", r.stdout, err)
	}
}
