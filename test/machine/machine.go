package machine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/test/attack"
	"torno/test/machine/report"
)

// kind is a kind of machine, by its processor.
type kind struct {
	emulator string
	flags    []string
	files    string // where kernel, busybox and runsc lie
	runsc    string
	console  string
	reports  []string // the second serial line; it lacks the file
	line     string   // its name in the machine
	slow     int      // how much longer than the others it may take
}

var kinds = map[string]kind{
	"amd64": {
		emulator: "qemu-system-x86_64", files: "bin/machine", runsc: "bin/runsc", console: "ttyS0", line: "/dev/ttyS1",
		reports: []string{"-device", "isa-serial,chardev=reports,index=1"}, slow: 1,
	},
	// For a trial by hand, with TORNO_MACHINE=arm64: no script fetches its files.
	"arm64": {
		emulator: "qemu-system-aarch64", flags: []string{"-M", "virt"}, files: "bin/machine-arm64", runsc: "bin/machine-arm64/runsc",
		console: "ttyAMA0", line: "/dev/ttyS0", reports: []string{"-device", "pci-serial,chardev=reports"}, slow: 5,
	},
}

// arch is the machine's processor.
var arch = cmp.Or(os.Getenv("TORNO_MACHINE"), "amd64")

// parts are what a machine is made of, by path.
type parts struct{ qemu, mke2fs, kernel, busybox, runsc string }

// findParts looks for them, where scripts/need has them.
func findParts() (p parts, err error) {
	look := func(into *string, program string) {
		var missing error
		if *into, missing = exec.LookPath(program); missing != nil {
			if *into, missing = exec.LookPath("/sbin/" + program); missing != nil {
				err = errors.Join(err, fmt.Errorf("there is no %s", program))
			}
		}
	}
	look(&p.qemu, kinds[arch].emulator)
	look(&p.mke2fs, "mke2fs")
	for into, pattern := range map[*string]string{
		&p.kernel: kinds[arch].files + "/boot/vmlinuz-*", &p.busybox: kinds[arch].files + "/bin/busybox", &p.runsc: kinds[arch].runsc,
	} {
		found, _ := filepath.Glob(filepath.Join(attack.Root(), pattern))
		if len(found) == 0 {
			err = errors.Join(err, fmt.Errorf("there is no %s", pattern))
			continue
		}
		*into = found[len(found)-1]
	}
	return p, err
}

// Workshop makes machines.
type Workshop struct {
	parts
	dir  string
	disk string
}

// Open makes the disk of all machines. Close removes it.
func Open() (*Workshop, error) {
	p, err := findParts()
	if err != nil {
		return nil, fmt.Errorf("%w: %w; `make build` and `scripts/need machine` make all of it", ErrMissing, err)
	}
	dir, err := os.MkdirTemp("", "torno-machine-")
	if err != nil {
		return nil, err
	}
	w := &Workshop{parts: p, dir: dir}
	if w.disk, err = makeDisk(dir, p); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// ErrMissing says that this machine lacks what another one is made of.
var ErrMissing = errors.New("no machine can be had")

// Close removes what there is.
func (w *Workshop) Close() error { return os.RemoveAll(w.dir) }

// What bounds each test on a machine, and how much longer the machine may live than all of them, so that what a test waits for is told
// before it is gone.
const (
	patience = 150 * time.Second
	rest     = 30 * time.Second
)

// boot is how long a machine may take until its process 1 says a word: 3 s when nothing else runs here.
const boot = time.Minute

// Run starts a machine that runs tests of package inside, and returns what came of them when it has ended. A missing
// result means that the test was not run. The console helps to find out why. An emulated kernel that does not come to process 1, which was
// seen once in a while, is given a second chance, because nothing of ours has run.
func (w *Workshop) Run(t testing.TB, tests ...string) (results []report.Result, console string) {
	t.Helper()
	results, console, begun := w.once(t, tests)
	if !begun {
		t.Logf("the machine's kernel did not come to process 1; once more. It said\n%s", console)
		if results, console, begun = w.once(t, tests); !begun {
			t.Errorf("nor did it the second time\n%s", console)
		}
	}
	return results, console
}

// once says also whether process 1 has begun.
func (w *Workshop) once(t testing.TB, tests []string) (results []report.Result, console string, begun bool) {
	t.Helper()
	dir := t.TempDir()
	reports, log := filepath.Join(dir, "reports"), filepath.Join(dir, "console")
	allowed := (patience*time.Duration(len(tests)) + rest) * time.Duration(kinds[arch].slow)
	ctx, cancel := context.WithTimeout(t.Context(), allowed)
	defer cancel()
	hasBegun := func() bool {
		said, _ := os.ReadFile(log)
		return bytes.Contains(said, []byte(guestSays))
	}
	defer time.AfterFunc(boot*time.Duration(kinds[arch].slow), func() {
		if !hasBegun() {
			cancel()
		}
	}).Stop()
	machine := exec.CommandContext(ctx, w.qemu, w.flags(log, reports, tests)...)
	machine.Env = append(os.Environ(), "TMPDIR="+dir) // of the copy that is the machine's own
	out, err := machine.CombinedOutput()
	said, _ := os.ReadFile(log)
	console, begun = fmt.Sprintf("%s%s", out, said), hasBegun()
	if !begun {
		return nil, console, false
	}
	if err != nil {
		t.Errorf("the machine: %v (%v)\n%s", err, ctx.Err(), console)
	}
	file, err := os.Open(reports)
	if err != nil {
		t.Fatalf("the machine reports nothing: %v\n%s", err, console)
	}
	defer file.Close()
	if results, err = report.Read(file); err != nil {
		t.Errorf("%v\n%s", err, console)
	}
	return results, console, true
}

// guestSays is how each line of process 1 on the console begins.
const guestSays = "guest: "

// flags are those of the emulator. What the kernel does not know of its command line is process 1's environment, and behind "--" its
// arguments.
func (w *Workshop) flags(console, reports string, tests []string) []string {
	k := kinds[arch]
	return slices.Concat(k.flags, []string{
		"-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-accel", "tcg", "-cpu", "max", "-m", "2048", "-smp", "2",
		"-snapshot", "-drive", "file=" + w.disk + ",format=raw,if=none,id=disk", "-device", "nvme,serial=disk,drive=disk",
		"-serial", "file:" + console, "-chardev", "file,id=reports,path=" + reports,
	}, k.reports, []string{
		"-kernel", w.kernel, "-append", "console=" + k.console + " quiet panic=-1 root=/dev/nvme0n1 rootfstype=ext4 rw init=/guest " +
			"REPORTS=" + k.line + " PATIENCE=" + (patience * time.Duration(k.slow)).String() + " -- " + strings.Join(tests, " "),
	})
}
