package machine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	kernel   string   // what its kernel is told
	slow     int      // how much more processor time than the others it may take
}

var kinds = map[string]kind{
	"amd64": {
		emulator: "qemu-system-x86_64", files: "bin/machine", runsc: "bin/runsc", console: "ttyS0", line: "/dev/ttyS1",
		reports: []string{"-device", "isa-serial,chardev=reports,index=1"}, slow: 1,
		// The kernel does not try out the timer: an emulated processor has some milliseconds for it, and where other programs of the host have
		// had them the kernel panics.
		kernel: "no_timer_check",
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
		return nil, fmt.Errorf("%w; `make build` and `scripts/need machine` make all of it", err)
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

// Newer makes machines with a kernel that is newer than Debian's stable one.
func (w *Workshop) Newer() (*Workshop, error) {
	pattern := kinds[arch].files + "/newer/vmlinuz"
	newer := *w
	newer.kernel = filepath.Join(attack.Root(), pattern)
	if _, err := os.Stat(newer.kernel); err != nil {
		return nil, fmt.Errorf("there is no %s; `scripts/need machine` fetches it", pattern)
	}
	return &newer, nil
}

// Close removes what there is.
func (w *Workshop) Close() error { return os.RemoveAll(w.dir) }

// How long a machine may say nothing before it counts as standing still, in processor time that its emulator uses meanwhile. A kernel
// comes to process 1 in about six seconds of it, and then process 1 says each second that it goes on. A machine whose processors wait
// for ever uses none: for it the clock counts, a much longer time that no load of others makes necessary.
const (
	boot     = time.Minute
	silence  = 30 * time.Second
	byClock  = 10              // times as long
	forTests = 2 * time.Minute // of what the whole run may take, for what comes after the machine
)

// patience is how long the tests on a machine may take: as long as the whole run may. A test that hangs is told of in time.
func patience(t *testing.T) time.Duration {
	if end, ok := t.Deadline(); ok {
		return max(time.Until(end)-forTests, time.Minute)
	}
	return 24 * time.Hour
}

// attempts is how often a machine is started whose kernel stands still: the emulator does that once in some hundred machines.
const attempts = 2

// Run starts a machine that runs tests of package inside, and returns what came of them when it has ended. A missing
// result means that the test was not run. The console helps to find out why.
func (w *Workshop) Run(t *testing.T, tests ...string) (results []report.Result, console string) {
	t.Helper()
	for n := range attempts {
		m := w.start(t, tests)
		stood := m.wait()
		results, err := m.reported()
		console = m.console()
		switch {
		case stood == "":
			if err = errors.Join(m.ended, err); err != nil {
				t.Errorf("the machine: %v\n%s", err, console)
			}
			return results, console
		case n == attempts-1:
			t.Errorf("the machine stood still again\n%s\n%s", console, stood)
		default:
			t.Logf("the machine stood still; another one is started\n%s\n%s", console, stood)
		}
	}
	return nil, console
}

// running is a machine that has been started.
type running struct {
	dir   string
	pid   int           // of the emulator
	boot  time.Duration // of processor time, until process 1 says a word
	rest  time.Duration // the same, between two of its words
	gone  chan struct{}
	kill  context.CancelFunc
	said  bytes.Buffer // by the emulator; read when it is gone
	ended error        // the same
}

func (m *running) file(name string) string { return filepath.Join(m.dir, name) }

func (w *Workshop) start(t *testing.T, tests []string, more ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	slower := func(d time.Duration) time.Duration { return d * time.Duration(kinds[arch].slow) }
	m := &running{dir: t.TempDir(), boot: slower(boot), rest: slower(silence), gone: make(chan struct{}), kill: cancel}
	emulator := exec.CommandContext(ctx, w.qemu, append(w.flags(m, patience(t), tests), more...)...)
	emulator.Env = append(os.Environ(), "TMPDIR="+m.dir) // of the copy that is the machine's own
	emulator.Stdout, emulator.Stderr = &m.said, &m.said
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	m.pid = emulator.Process.Pid
	go func() {
		defer close(m.gone)
		m.ended = emulator.Wait()
	}()
	t.Cleanup(func() { cancel(); <-m.gone })
	return m
}

// wait waits for the machine's end, and ends one that stands still. What the emulator says of its processors then is the result.
func (m *running) wait() (stood string) {
	defer m.kill()
	last, used, reported := time.Now(), time.Duration(0), int64(-1)
	for {
		select {
		case <-m.gone:
			return ""
		case <-time.After(time.Second):
		}
		now := m.processorTime()
		if said := m.progress(); said != reported {
			last, used, reported = time.Now(), now, said
		}
		allowed := m.rest
		if reported < 0 {
			allowed = m.boot
		}
		if now-used < allowed && time.Since(last) < byClock*allowed {
			continue
		}
		stood = m.processors()
		m.kill()
		<-m.gone
		return stood
	}
}

// processorTime is what the emulator has used; 0 where that cannot be told.
func (m *running) processorTime() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(stat), ") ") // the name may have anything in it but this
	fields := strings.Fields(behind)
	if len(fields) < 13 {
		return 0
	}
	var ticks int64                       // hundredths of a second
	for _, field := range fields[11:13] { // in user mode, in the kernel
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// progress grows with each word of process 1. It is -1 until process 1 has said a word.
func (m *running) progress() int64 {
	if said, _ := os.ReadFile(m.file(consoleFile)); !bytes.Contains(said, []byte(guestSays)) {
		return -1
	}
	info, err := os.Stat(m.file(reportsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// processors asks the emulator where the machine's processors are, for a reader of the log.
func (m *running) processors() string {
	monitor, err := net.Dial("unix", m.file(monitorSocket))
	if err != nil {
		return err.Error()
	}
	defer monitor.Close()
	if err := monitor.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err.Error()
	}
	const ask = `{"execute":"qmp_capabilities"} {"execute":"human-monitor-command","arguments":{"command-line":"info registers -a"}}`
	if _, err := io.WriteString(monitor, ask); err != nil {
		return err.Error()
	}
	for answers := json.NewDecoder(monitor); ; {
		var answer struct{ Return any }
		if err := answers.Decode(&answer); err != nil {
			return err.Error()
		}
		if text, ok := answer.Return.(string); ok {
			return text
		}
	}
}

func (m *running) console() string {
	said, _ := os.ReadFile(m.file(consoleFile))
	return m.said.String() + string(said)
}

func (m *running) reported() ([]report.Result, error) {
	file, err := os.Open(m.file(reportsFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return report.Read(file)
}

// What lies in a machine's directory: what its kernel and process 1 print, its reports, and the emulator's own socket.
const (
	consoleFile   = "console"
	reportsFile   = "reports"
	monitorSocket = "monitor"
)

// guestSays is how each line of process 1 on the console begins.
const guestSays = "guest: "

// flags are those of the emulator. What the kernel does not know of its command line is process 1's environment, and behind "--" its
// arguments. It does without what keeps a processor from telling secrets: it has none, and that costs time.
func (w *Workshop) flags(m *running, patience time.Duration, tests []string) []string {
	k := kinds[arch]
	return slices.Concat(k.flags, []string{
		"-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-accel", "tcg", "-cpu", "max", "-m", "2048", "-smp", "2",
		"-snapshot", "-drive", "file=" + w.disk + ",format=raw,if=none,id=disk", "-device", "nvme,serial=disk,drive=disk",
		"-serial", "file:" + m.file(consoleFile), "-chardev", "file,id=reports,path=" + m.file(reportsFile),
		"-qmp", "unix:" + m.file(monitorSocket) + ",server=on,wait=off",
	}, k.reports, []string{
		"-kernel", w.kernel, "-append", "console=" + k.console + " quiet panic=-1 mitigations=off " + k.kernel + " root=/dev/nvme0n1 rootfstype=ext4 rw init=/guest " +
			"REPORTS=" + k.line + " PATIENCE=" + patience.Truncate(time.Second).String() + " -- " + strings.Join(tests, " "),
	})
}
