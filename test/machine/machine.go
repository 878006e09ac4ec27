package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/test/attack"
	"torno/test/machine/report"
)

// arch is the machine's processor, and emulator the program that is one.
const (
	arch     = "amd64"
	emulator = "qemu-system-x86_64"
)

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
	look(&p.qemu, emulator)
	look(&p.mke2fs, "mke2fs")
	for into, pattern := range map[*string]string{
		&p.kernel: "bin/machine/boot/vmlinuz-*", &p.busybox: "bin/machine/bin/busybox", &p.runsc: "bin/runsc",
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

// lifetime bounds a machine: it is emulated, and so are its timers.
const lifetime = 4 * time.Minute

// Run starts a machine that runs tests of package inside, and returns what came of them when it has ended. What is missing has
// not been run. The console is for whoever has to find out why.
func (w *Workshop) Run(t testing.TB, tests ...string) (results []report.Result, console string) {
	t.Helper()
	dir := t.TempDir()
	reports, log := filepath.Join(dir, "reports"), filepath.Join(dir, "console")
	ctx, cancel := context.WithTimeout(t.Context(), lifetime)
	defer cancel()
	machine := exec.CommandContext(ctx, w.qemu, "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-accel", "tcg", "-cpu", "max",
		"-m", "2048", "-smp", "2", "-kernel", w.kernel, "-snapshot", "-drive", "file="+w.disk+",format=raw,if=none,id=disk",
		"-device", "nvme,serial=disk,drive=disk", "-serial", "file:"+log, "-serial", "file:"+reports,
		"-append", "console=ttyS0 quiet panic=-1 root=/dev/nvme0n1 rootfstype=ext4 rw init=/guest -- "+strings.Join(tests, " "))
	machine.Env = append(os.Environ(), "TMPDIR="+dir) // of the copy that is the machine's own
	out, err := machine.CombinedOutput()
	said, _ := os.ReadFile(log)
	console = fmt.Sprintf("%s%s", out, said)
	if err != nil {
		t.Errorf("the machine: %v (%v)\n%s", err, ctx.Err(), console)
	}
	file, err := os.Open(reports)
	if err != nil {
		t.Fatalf("the machine has not begun: %v\n%s", err, console)
	}
	defer file.Close()
	if results, err = report.Read(file); err != nil {
		t.Errorf("%v\n%s", err, console)
	}
	return results, console
}
