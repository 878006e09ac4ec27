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
	// A file and a socket of the host, by second names, are not the gateway's.
	p.write("hosts", "the host's")
	if err := os.Link(p.path("hosts"), p.path("state/doors/hosts")); err != nil {
		t.Fatal(err)
	}
	service, err := net.Listen("unix", p.path("service"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	if err := os.Link(p.path("service"), p.path("state/doors/service")); err != nil {
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
	for name, want := range map[string]int{"state/budget/ledger": gatewayUser, "state/doors/run": gatewayUser, "state/setup.yaml": 0, "state": 0, "hosts": 0, "service": 0} {
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
	Alone        bool   // the attacker calls stayOneProcess first, as the gateway does
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
	if a.Alone {
		if err := stayOneProcess(); err != nil {
			t.Fatal(err)
		}
	}
	for _, could := range a.tries() {
		fmt.Println("could: " + could)
	}
}

// leaving names a try that would outlive the gateway.
const leaving = "start a process"

// lending names the tries that the kernel refuses across mounts.
const lending = "give a socket from elsewhere a name among its own"

// tries runs every attack and returns the names of those that succeeded.
func (a attack) tries() []string {
	return slices.Concat(a.onFiles(), a.onDescriptors(), a.onProcess("the watcher", a.Watcher), a.onProcess("the warden", a.Warden), a.onTheWarden())
}

// could holds the names of attacks that succeeded.
type could []string

func (c *could) try(name string, err error) {
	if err == nil {
		*c = append(*c, name)
	}
}

func opens(path string, how int) error {
	f, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func connects(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return c.Close()
}

// onFiles tries what a path leads to.
func (a attack) onFiles() (c could) {
	c.try("open the journal", opens(filepath.Join(a.Above, "journal.db"), os.O_RDONLY))
	c.try("open an outbox", opens(filepath.Join(a.Above, "outbox"), os.O_RDONLY))
	c.try("write into an outbox", opens(filepath.Join(a.Above, "outbox", "request"), os.O_WRONLY|os.O_CREATE))
	c.try("reach the engine", connects(a.EngineSocket))
	c.try("read a credential", opens(a.Key, os.O_RDONLY))
	c.try("read a file of another user", opens(a.OthersFile, os.O_RDONLY))
	c.try("write the routes", opens(a.Setup, os.O_WRONLY))
	c.try("become root", syscall.Setuid(0))
	c.try(leaving, exec.CommandContext(context.Background(), "/proc/self/exe", "-test.run=^$").Run())
	return c
}

// onDescriptors tries what the gateway's descriptors lead to.
func (a attack) onDescriptors() (c could) {
	for _, fd := range a.Descriptors {
		c.try(lending, unix.Linkat(unix.AT_FDCWD, a.Lent, fd, "lent", 0))
		for _, up := range []string{"..", "../..", "../../.."} {
			for _, name := range []string{"journal.db", "outbox", "setup.yaml", "key", "others"} {
				at, err := unix.Openat(fd, up+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				c.try("climb to "+name, err)
				if err == nil {
					unix.Close(at)
				}
			}
			c.try("climb to the engine", connects(fmt.Sprintf("/proc/self/fd/%d/%s/engine.sock", fd, up)))
		}
	}
	return c
}

// onProcess tries what can be done to a process of the watcher's.
func (a attack) onProcess(name string, pid int) (c could) {
	c.try("signal "+name, syscall.Kill(pid, 0))
	c.try("trace "+name, unix.PtraceSeize(pid))
	c.try("read the memory of "+name, opens(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDONLY))
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	c.try("read the environment of "+name, err)
	handle, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(handle, 0, 0)
	}
	c.try("take a descriptor of "+name, err)
	return c
}

// onTheWarden tries what the gateway may ask the warden for.
func (a attack) onTheWarden() (c could) {
	for _, name := range []string{"../../key", a.Key, "other"} {
		c.try("have the warden read "+name, a.asks(func(access *credential.Access) error {
			_, err := access.Roots(context.Background(), name)
			return err
		}))
	}
	c.try("ask the warden at all", a.asks(func(access *credential.Access) error {
		_, err := access.Setup(context.Background())
		return err
	}))
	return c
}

// asks asks the warden over a copy of the gateway's descriptor.
func (a attack) asks(ask func(*credential.Access) error) error {
	asks, err := unix.Dup(a.Asks)
	if err != nil {
		return err
	}
	conn, err := credential.ConnOf(os.NewFile(uintptr(asks), "asks"))
	if err != nil {
		return err
	}
	return ask(credential.NewAccess(conn))
}

// listening listens at a unix socket until the test ends.
func listening(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestAGatewayThatIsTakenOver runs an attacker with the gateway's user and descriptors: it can open nothing of the watcher's, touch none of its
// processes, and put no file from elsewhere among its own, such as the directories that children see. The same attacker as root, with plain
// directories, as gateways once had them, succeeds in all of it.
func TestAGatewayThatIsTakenOver(t *testing.T) {
	g := newPlace(t).withWarden()
	for name, text := range map[string]string{"journal.db": "runs", "others": "of another user"} {
		g.write(name, text)
	}
	elsewhere, err := os.MkdirTemp("", "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(elsewhere)
	lent := filepath.Join(elsewhere, "socket")
	listening(t, g.path("engine.sock"), 0o666) // the directory above keeps strangers out
	listening(t, lent, 0o755)
	err = errors.Join(os.Mkdir(g.path("outbox"), 0o755), os.Chown(g.path("others"), 1000, 1000),
		os.Chmod(elsewhere, 0o755), os.Chown(lent, gatewayUser, gatewayUser))
	if err != nil {
		t.Fatal(err)
	}
	doors, err := os.Open(g.path("state/doors"))
	if err != nil {
		t.Fatal(err)
	}
	defer doors.Close()
	if mode := field(t, g.proper(), "Seccomp"); mode != "2" {
		t.Errorf("the gateway has no filter: its mode is %s", mode)
	}
	know := attack{ // Above is the state's parent, which is 0700 as a watcher's state directory is
		Above: g.dir, Watcher: os.Getpid(), Warden: g.cmd.Process.Pid, Setup: g.path("state/setup.yaml"), Key: g.path("key"),
		OthersFile: g.path("others"), EngineSocket: g.path("engine.sock"), Lent: lent,
	}
	held := descriptorsOf(t, g.proper())
	defer func() {
		for _, f := range held {
			f.Close()
		}
	}()
	taken, root := know.by(t, gatewayUser, held), know.by(t, 0, append(slices.Clip(held), doors))
	const asked = "ask the warden at all"
	for _, what := range taken {
		switch {
		case what == asked:
		case what == lending && !clonesMounts(doors):
			t.Log("NOT SHOWN HERE: root may clone no mount, so the gateway's directories are none of their own")
		default:
			t.Errorf("a gateway that is taken over can %s", what)
		}
	}
	if !slices.Contains(taken, asked) {
		t.Errorf("it has not the gateway's descriptors: %q", taken)
	}
	for _, what := range []string{
		"open the journal", "write into an outbox", "reach the engine", "read a credential", "read a file of another user", "write the routes", "climb to journal.db",
		"climb to the engine", "signal the watcher", "read the environment of the warden", "take a descriptor of the watcher", asked, lending, leaving,
	} {
		if !slices.Contains(root, what) {
			t.Errorf("this attacker shows nothing: as root it cannot %s, only %q", what, root)
		}
	}
}

// clonesMounts reports whether this process may clone the mount of a directory.
func clonesMounts(dir *os.File) bool {
	clone, err := unix.OpenTree(int(dir.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return false
	}
	unix.Close(clone)
	return true
}

// by runs the attacker as a user with descriptors, and returns what it succeeded in.
func (a attack) by(t *testing.T, user uint32, held []*os.File) (could []string) {
	t.Helper()
	for i, f := range held {
		a.Descriptors = append(a.Descriptors, 3+i)
		if kind, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind == unix.SOCK_SEQPACKET {
			a.Asks = 3 + i
		}
	}
	a.Alone = user != 0
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestTakenOverProcess$")
	cmd.Dir, cmd.ExtraFiles, cmd.Env = "/", held, []string{asAttacker + "=" + string(raw)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "could: "); ok {
			could = append(could, what)
		}
	}
	return could
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
