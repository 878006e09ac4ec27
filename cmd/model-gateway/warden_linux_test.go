package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/control"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/setup"
	"torno/internal/retry"
)

// gatewayUser runs the gateways of these tests.
const gatewayUser = 2_000_065_537

// withWarden starts a gateway with a user of its own, below a directory such as a watcher's state.
func (p *place) withWarden() *gatewayProcess {
	p.Helper()
	if os.Geteuid() != 0 {
		p.Skip("NOT SHOWN HERE: it takes root to give a gateway another user")
	}
	if p.program == "" {
		p.build()
	}
	text, err := os.ReadFile(p.path("gateway.yaml"))
	if err == nil {
		err = os.MkdirAll(p.path("state"), 0o700)
	}
	if err == nil {
		err = setup.Write(p.path("state"), text)
	}
	if err != nil {
		p.Fatal(err)
	}
	return p.serveWith("--user", strconv.Itoa(gatewayUser))
}

// proper returns the pid of the gateway itself: the child of the warden.
func (g *gatewayProcess) proper() int {
	g.Helper()
	status, err := g.Door.Status(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	if status.User != gatewayUser || status.Process == g.cmd.Process.Pid {
		g.Fatalf("what serves is process %d of user %d, and the warden is %d", status.Process, status.User, g.cmd.Process.Pid)
	}
	return status.Process
}

func field(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	t.Fatalf("process %d has no %s", pid, name)
	return ""
}

// TestTheGatewayHasAUserOfItsOwn: it has no right of the watcher's, and serves: it has the credential by its warden, at once when that
// is another one, also where the file itself is.
func TestTheGatewayHasAUserOfItsOwn(t *testing.T) {
	g := newPlace(t).withWarden()
	pid, user := g.proper(), strconv.Itoa(gatewayUser)
	for name, want := range map[string]string{
		"Uid": strings.Join(slices.Repeat([]string{user}, 4), " "), "Gid": strings.Join(slices.Repeat([]string{user}, 4), " "), "Groups": "",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1",
	} {
		if got := field(t, pid, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || strings.Contains(string(environ), "PATH=") {
		t.Errorf("its environment is %q, %v", environ, err)
	}
	c := g.open("run", budget.Limits{})
	ask := func() {
		t.Helper()
		r, err := say(c, "hello", false)
		if status, body := whole(t, r, err); status != 200 || !strings.Contains(body, "You said: hello") {
			t.Errorf("%d: %s", status, body)
		}
	}
	ask()
	const next = "sk-next-9876543210fedcba"
	g.up.Rotate(next)
	g.write("key.new", next)
	if err := os.Rename(g.path("key.new"), g.path("key")); err != nil {
		t.Fatal(err)
	}
	ask()
	doors, err := g.Door.Doors(t.Context())
	if err != nil || len(doors) != 1 || doors[0].Socket != g.path("state/doors/run/sock") {
		t.Errorf("%+v, %v", doors, err)
	}
}

// TestAProcessOfBeforeIsFollowed: a gateway that was root leaves its doors, what was spent and its routes to one that is not.
func TestAProcessOfBeforeIsFollowed(t *testing.T) {
	p := newPlace(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: it takes root to give a gateway another user")
	}
	p.build()
	before := p.serveWith()
	if _, err := before.Door.Configure(t.Context(), p.said()); err != nil {
		t.Fatal(err)
	}
	two := int64(2)
	r, err := say(before.open("run", budget.Limits{Requests: &two}), "hello", false)
	whole(t, r, err)
	before.cmd.Process.Kill()
	before.cmd.Wait()
	if owner := ownerOf(t, p.path("state/budget/ledger")); owner != 0 {
		t.Fatalf("the ledger of a gateway that was root is user %d's", owner)
	}
	// The host's own file, by a second name, is no file of the gateway's.
	p.write("hosts", "the host's")
	if err := os.Link(p.path("hosts"), p.path("state/doors/hosts")); err != nil {
		t.Fatal(err)
	}
	g := p.withWarden()
	doors, err := g.Door.Doors(t.Context())
	if err != nil || len(doors) != 1 || doors[0].Spent.Requests != 1 {
		t.Fatalf("the doors are %+v: %v", doors, err)
	}
	for i, want := range []int{200, 400} {
		r, err := say(child(t, doors[0].Socket), "hello", false)
		if status, body := whole(t, r, err); status != want {
			t.Errorf("request %d: %d: %s", i, status, body)
		}
	}
	for name, want := range map[string]int{"state/budget/ledger": gatewayUser, "state/doors/run": gatewayUser, "state/setup.yaml": 0, "state": 0, "hosts": 0} {
		if owner := ownerOf(t, p.path(name)); owner != want {
			t.Errorf("%s is user %d's", name, owner)
		}
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// TestTheWardenEndsWithItsGateway, and the gateway with its warden: neither is left behind, and the next one serves.
func TestTheWardenEndsWithItsGateway(t *testing.T) {
	p := newPlace(t)
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		proper bool
		exit   int
	}{
		{"the gateway is killed", syscall.SIGKILL, true, exitFailure},
		{"the gateway is stopped", syscall.SIGTERM, true, exitOK},
		{"the warden is stopped", syscall.SIGTERM, false, exitOK},
		{"the warden is killed", syscall.SIGKILL, false, -1},
	} {
		g := p.withWarden()
		pid, warden := g.proper(), g.cmd.Process.Pid
		at := warden
		if end.proper {
			at = pid
		}
		if err := syscall.Kill(at, end.signal); err != nil {
			t.Fatal(err)
		}
		g.cmd.Wait()
		if got := g.cmd.ProcessState.ExitCode(); got != end.exit {
			t.Errorf("%s: the warden ends with %d", end.name, got)
		}
		for ctx := t.Context(); syscall.Kill(pid, 0) == nil; {
			if state := field(t, pid, "State"); strings.HasPrefix(state, "Z") {
				break // it has ended, and what would reap it is gone
			}
			if retry.Pause(ctx, 10*time.Millisecond) != nil {
				t.Fatalf("%s: the gateway goes on", end.name)
			}
		}
		if _, err := g.Door.Status(t.Context()); !errors.Is(err, control.ErrNoGateway) {
			t.Errorf("%s: %v", end.name, err)
		}
	}
}

// TestASecondWardenEnds starts two wardens in one directory: the second names the first and ends, the first goes on serving.
func TestASecondWardenEnds(t *testing.T) {
	g := newPlace(t).withWarden()
	pid := g.proper()
	out, err := g.command("serve", "--state", g.path("state"), "--user", strconv.Itoa(gatewayUser)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint(g.cmd.Process.Pid)) {
		t.Errorf("%v: %s", err, out)
	}
	if now := g.proper(); now != pid {
		t.Errorf("process %d serves, and %d before", now, pid)
	}
}

// asAttacker runs this test binary as a gateway that a child has taken over, and returns what it succeeded in.
const asAttacker = "MODEL_GATEWAY_TEST_IS_TAKEN_OVER"

// attack holds what the attacker knows.
type attack struct {
	Above        string // the watcher's state
	Watcher      int
	Warden       int
	Descriptors  []int // those of the gateway
	Asks         int   // the one among them that leads to the warden
	Setup, Key   string
	OthersFile   string
	EngineSocket string
	Lent         string // a socket of the gateway's user's, elsewhere on the same file system: no sysctl keeps it from a second name
}

// TestTakenOverProcess plays the attacker, in a process of its own.
func TestTakenOverProcess(t *testing.T) {
	raw := os.Getenv(asAttacker)
	if raw == "" {
		t.Skip("it is started by TestAGatewayThatIsTakenOver")
	}
	var a attack
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatal(err)
	}
	for _, could := range a.tries() {
		fmt.Println("could: " + could)
	}
}

// lending names the tries that the kernel refuses across mounts.
const lending = "give a socket from elsewhere a name among its own"

// tries runs every attack and returns the names of those that succeeded.
func (a attack) tries() (could []string) {
	try := func(name string, do func() error) {
		if do() == nil {
			could = append(could, name)
		}
	}
	open := func(path string, how int) func() error {
		return func() error {
			f, err := os.OpenFile(path, how, 0)
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	connect := func(path string) func() error {
		return func() error {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	try("open the journal", open(filepath.Join(a.Above, "journal.db"), os.O_RDONLY))
	try("open an outbox", open(filepath.Join(a.Above, "outbox"), os.O_RDONLY))
	try("write into an outbox", open(filepath.Join(a.Above, "outbox", "request"), os.O_WRONLY|os.O_CREATE))
	try("reach the engine", connect(a.EngineSocket))
	try("read a credential", open(a.Key, os.O_RDONLY))
	try("read a file of another user", open(a.OthersFile, os.O_RDONLY))
	try("write the routes", open(a.Setup, os.O_WRONLY))
	for _, fd := range a.Descriptors {
		try(lending, func() error {
			return unix.Linkat(unix.AT_FDCWD, a.Lent, fd, "lent", 0)
		})
		for _, up := range []string{"..", "../..", "../../.."} {
			for _, name := range []string{"journal.db", "outbox", "setup.yaml", "key", "others"} {
				try("climb to "+name, func() error {
					at, err := unix.Openat(fd, up+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
					if err == nil {
						unix.Close(at)
					}
					return err
				})
			}
			try("climb to the engine", connect(fmt.Sprintf("/proc/self/fd/%d/%s/engine.sock", fd, up)))
		}
	}
	for name, pid := range map[string]int{"the watcher": a.Watcher, "the warden": a.Warden} {
		try("signal "+name, func() error { return syscall.Kill(pid, 0) })
		try("trace "+name, func() error { return unix.PtraceSeize(pid) })
		try("read the memory of "+name, open(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDONLY))
		try("read the environment of "+name, func() error {
			_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			return err
		})
		try("take a descriptor of "+name, func() error {
			handle, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(handle, 0, 0)
			return err
		})
	}
	try("become root", func() error { return syscall.Setuid(0) })
	for _, name := range []string{"../../key", a.Key, "other"} {
		try("have the warden read "+name, func() error {
			asks, err := unix.Dup(a.Asks)
			if err != nil {
				return err
			}
			conn, err := credential.ConnOf(os.NewFile(uintptr(asks), "asks"))
			if err != nil {
				return err
			}
			_, err = credential.NewAccess(conn).Roots(context.Background(), name)
			return err
		})
	}
	try("ask the warden at all", func() error {
		conn, err := credential.ConnOf(os.NewFile(uintptr(a.Asks), "asks"))
		if err != nil {
			return err
		}
		_, err = credential.NewAccess(conn).Setup(context.Background())
		return err
	})
	return could
}

// TestAGatewayThatIsTakenOver: with the gateway's user and its descriptors, nothing of the watcher's can be opened, nor can its processes
// be touched; nor does anything of elsewhere get among what is its own, as the directories that children see. The same attacker as root, with
// directories as they are, which is what a gateway was and had before, does it all.
func TestAGatewayThatIsTakenOver(t *testing.T) {
	g := newPlace(t).withWarden()
	above := g.dir // of the state: 0700, as a watcher's state directory is
	for name, text := range map[string]string{"journal.db": "runs", "others": "of another user"} {
		g.write(name, text)
	}
	if err := errors.Join(os.Mkdir(g.path("outbox"), 0o755), os.Chown(g.path("others"), 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	engine, err := net.Listen("unix", g.path("engine.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if err := os.Chmod(g.path("engine.sock"), 0o666); err != nil { // what keeps it is the directory
		t.Fatal(err)
	}
	elsewhere, err := os.MkdirTemp("", "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(elsewhere)
	lent := filepath.Join(elsewhere, "socket")
	lends, err := net.Listen("unix", lent)
	if err != nil {
		t.Fatal(err)
	}
	defer lends.Close()
	if err := errors.Join(os.Chmod(elsewhere, 0o755), os.Chown(lent, gatewayUser, gatewayUser)); err != nil {
		t.Fatal(err)
	}
	doors, err := os.Open(g.path("state/doors"))
	if err != nil {
		t.Fatal(err)
	}
	defer doors.Close()
	clone, err := unix.OpenTree(int(doors.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	clones := err == nil
	unix.Close(clone)
	pid := g.proper()
	know := attack{
		Above: above, Watcher: os.Getpid(), Warden: g.cmd.Process.Pid, Setup: g.path("state/setup.yaml"), Key: g.path("key"),
		OthersFile: g.path("others"), EngineSocket: g.path("engine.sock"), Lent: lent,
	}
	attacker := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestTakenOverProcess$")
	attacker.Dir = "/"
	for _, f := range descriptorsOf(t, pid) {
		defer f.Close()
		attacker.ExtraFiles = append(attacker.ExtraFiles, f)
		at := 2 + len(attacker.ExtraFiles)
		know.Descriptors = append(know.Descriptors, at)
		if kind, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind == unix.SOCK_SEQPACKET {
			know.Asks = at
		}
	}
	run := func(user uint32, plain ...*os.File) string {
		know, files := know, append(slices.Clip(attacker.ExtraFiles), plain...)
		for i := range plain {
			know.Descriptors = append(slices.Clip(know.Descriptors), 3+len(attacker.ExtraFiles)+i)
		}
		raw, err := json.Marshal(know)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), attacker.Path, attacker.Args[1:]...)
		cmd.Dir, cmd.ExtraFiles, cmd.Env = "/", files, []string{asAttacker + "=" + string(raw)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	taken, root := run(gatewayUser), run(0, doors)
	for line := range strings.Lines(taken) {
		what, could := strings.CutPrefix(strings.TrimSpace(line), "could: ")
		switch {
		case !could || what == "ask the warden at all":
		case what == lending && !clones:
			t.Log("NOT SHOWN HERE: root may clone no mount, so the gateway's directories are none of their own")
		default:
			t.Errorf("a gateway that is taken over can %s", what)
		}
	}
	for _, what := range []string{
		"open the journal", "write into an outbox", "reach the engine", "read a credential", "read a file of another user", "write the routes", "climb to journal.db",
		"climb to the engine", "signal the watcher", "read the environment of the warden", "take a descriptor of the watcher", "ask the warden at all", lending,
	} {
		if !strings.Contains(root, "could: "+what+"\n") {
			t.Errorf("this attacker shows nothing: as root it cannot %s\n%s", what, root)
		}
	}
	if !strings.Contains(taken, "could: ask the warden at all") {
		t.Errorf("it has not the gateway's descriptors: %s", taken)
	}
}

// descriptorsOf copies all descriptors of a process.
func descriptorsOf(t *testing.T, pid int) (all []*os.File) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	for _, entry := range entries {
		number, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdGetfd(handle, number, 0)
		if errors.Is(err, unix.EBADF) {
			continue // it was closed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, os.NewFile(uintptr(fd), entry.Name()))
	}
	return all
}
