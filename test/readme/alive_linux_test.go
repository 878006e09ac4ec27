package readme

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/test/house"
)

// desk is a reader who types what a page says, in one directory, with a home of their own.
type desk struct {
	*testing.T
	dir, home string
	instead   *strings.Replacer // what a reader would put in the place of what is printed
}

func newDesk(t *testing.T, instead ...string) *desk {
	t.Helper()
	d := &desk{t, t.TempDir(), t.TempDir(), strings.NewReplacer(instead...)}
	must(t, os.Symlink(house.Program(""), filepath.Join(d.dir, "bin"))) // where make build has put them
	must(t, os.WriteFile(filepath.Join(d.home, ".curlrc"), []byte("fail\nsilent\nshow-error\n"), 0o600))
	return d
}

// shell is a bash that types a text.
func (d *desk) shell(text string) *exec.Cmd {
	d.Helper()
	c := exec.Command("bash", "-c", "make() { :; }\n"+d.instead.Replace(text)) // what make build builds is there
	c.Dir = d.dir
	c.Env = []string{
		"PATH=" + house.Program("") + ":" + os.Getenv("PATH"), "HOME=" + d.home, "XDG_STATE_HOME=" + filepath.Join(d.home, "state"),
		"DOCKER_HOST=unix://" + filepath.Join(d.home, "no-engine"), "TORNO_OUTBOX=" + filepath.Join(d.dir, "outbox"), "GOFLAGS=-modcacherw",
		"GOCACHE=" + env(d.T, "GOCACHE"), "GOMODCACHE=" + env(d.T, "GOMODCACHE"),
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func env(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// types runs a block and returns what it printed. Commands that fail are mistakes, but for those that hold one of the texts.
func (d *desk) types(b block, fails ...string) string {
	d.Helper()
	failed := filepath.Join(d.home, "failed")
	c := d.shell(`trap 'echo "exit $? : $BASH_COMMAND" >> ` + failed + "' ERR\n" + b.text)
	out, _ := c.CombinedOutput() // what failed is in the file
	noted, err := os.ReadFile(failed)
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	must(d.T, os.RemoveAll(failed))
	for line := range strings.Lines(string(noted)) {
		expected := false
		for _, text := range fails {
			expected = expected || strings.Contains(line, text)
		}
		if !expected {
			d.Errorf("%s:%d: %sit printed:\n%s", b.page, b.line, line, out)
		}
	}
	return string(out)
}

// starts runs a block that goes on, until it holds what it is started for. When the test ends it is told to end, as by Ctrl-C.
func (d *desk) starts(b block, ready func(said string) bool) (end func()) {
	d.Helper()
	var said notes
	c := d.shell(b.text)
	c.Stdout, c.Stderr = &said, &said
	must(d.T, c.Start())
	exited := make(chan error, 1)
	go func() { exited <- c.Wait() }()
	end = sync.OnceFunc(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGINT) // it may have ended
		select {
		case <-exited:
		case <-time.After(house.Patience):
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			d.Errorf("%s:%d does not end; it said\n%s", b.page, b.line, said.String())
		}
	})
	d.Cleanup(end)
	d.until("what "+b.page+" starts is ready", func() bool {
		select {
		case err := <-exited:
			exited <- err
			d.Fatalf("%s:%d ended: %v\n%s", b.page, b.line, err, said.String())
		default:
		}
		return ready(said.String())
	})
	return end
}

func (d *desk) until(what string, holds func() bool) {
	d.Helper()
	(&house.House{TB: d.T}).Eventually(what, holds)
}

func (d *desk) exists(path string) bool {
	_, err := os.Stat(filepath.Join(d.dir, path))
	return err == nil
}

// notes is what a process says while others read it.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}
func (n *notes) String() string { n.mu.Lock(); defer n.mu.Unlock(); return n.text.String() }

// TestTheFirstMinute types what the pages say for the first minute, on gVisor, which needs no engine. Tasks are scripts here.
func TestTheFirstMinute(t *testing.T) {
	house.NeedGVisor(t)
	d := newDesk(t, "'fix the failing test'", "'echo mended > mended.txt'")
	serving := func(said string) bool { return strings.Contains(said, "serving") }
	end := d.starts(named(t, "README.md", `make build && export PATH="$PWD/bin:$PATH"`), serving)
	said := d.types(named(t, "README.md", `export PATH="$PWD/bin:$PATH" TORNO_OUTBOX="$PWD/outbox"`), "--context /etc")
	wantAll(t, said, "hello from the other side", "/etc", "refused: context")
	d.types(named(t, "docs/PROTOCOL.md", "cat > outbox/hello.new <<'END'"))
	d.until("a request that was typed is answered", func() bool { return d.exists("outbox/response_hello.json") })
	d.types(named(t, "docs/OPERATIONS.md", "bin/subagent --outbox ./outbox spawn --wait -- 'echo hello'"))
	d.types(named(t, "docs/CLIENT.md", "subagent spawn --wait -- 'id; echo hello'"))
	d.types(named(t, "docs/OPERATIONS.md", "watcher ps --pool"))
	socket, err := filepath.Glob(filepath.Join(d.home, "state/torno/*/control.sock"))
	if err != nil || len(socket) != 1 {
		t.Fatalf("the control sockets are %q, %v", socket, err)
	}
	at := &desk{t, d.dir, d.home, strings.NewReplacer("/var/lib/torno/control.sock", socket[0])}
	at.types(named(t, "docs/OPERATIONS.md", "curl -s --unix-socket /var/lib/torno/control.sock http://watcher/v1/status"))
	if numbers := at.types(named(t, "docs/OPERATIONS.md", "curl -s --unix-socket /var/lib/torno/control.sock http://watcher/metrics")); !strings.Contains(numbers, "torno_up") {
		t.Errorf("the numbers are %q", numbers)
	}
	d.takesTheWork()
	end()
	d.starts(named(t, "docs/OPERATIONS.md", "make build"), serving)()
	end = d.starts(named(t, "docs/homes/laptop.md", `make build && export PATH="$PWD/bin:$PATH"`), serving)
	said = d.types(named(t, "docs/homes/laptop.md", `export PATH="$PWD/bin:$PATH" TORNO_OUTBOX="$PWD/outbox"`), "watcher doctor")
	wantAll(t, said, "hello", "cancelled", "works")
	end()
	d.purges(named(t, "docs/homes/laptop.md", "watcher purge --dir ./outbox"))
}

func wantAll(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
}

// purges removes what is left, with the reader's yes.
func (d *desk) purges(b block) {
	d.Helper()
	b.text = strings.TrimSpace(b.text) + " --yes\n"
	d.types(b)
}

// TestAUsersConfiguration makes the configuration of a user's service as printed, and serves it without the service.
func TestAUsersConfiguration(t *testing.T) {
	house.NeedGVisor(t)
	d := newDesk(t)
	b := named(t, "docs/homes/laptop.md", "install -d ~/.config/torno ~/outbox/workspaces")
	b.text, _, _ = strings.Cut(b.text, "watcher service")
	d.types(b)
	b.text = "watcher run --config ~/.config/torno/watcher.yaml"
	d.starts(b, func(said string) bool { return strings.Contains(said, "serving") })()
	b.text = "watcher purge --config ~/.config/torno/watcher.yaml"
	d.purges(b)
}

// takesTheWork has a child change a copy of a project, in which the reader is.
func (d *desk) takesTheWork() {
	d.Helper()
	project := filepath.Join(d.dir, "project")
	must(d.T, os.Mkdir(project, 0o755))
	must(d.T, os.WriteFile(filepath.Join(project, "README"), []byte("a project\n"), 0o600))
	b := named(d.T, "docs/CLIENT.md", "id=$(subagent spawn --copy . -- 'fix the failing test')")
	b.text = "cd project\n" + b.text
	d.types(b)
	if !d.exists("project/mended.txt") {
		d.Error("the child's work was not taken over")
	}
}

// TestAnExampleRuns types what the comment of an example says, in directories of its own, and has its agent's user ask for a child.
func TestAnExampleRuns(t *testing.T) {
	for name, need := range map[string]func(testing.TB){"service.yaml": house.NeedGVisor, "minimal.yaml": func(t testing.TB) { house.NeedEngine(t) }} {
		t.Run(name, func(t *testing.T) {
			need(t)
			if os.Getuid() != 0 {
				t.Skip("NOT SHOWN HERE: what the example says needs root")
			}
			d := newDesk(t)
			must(t, os.Chmod(filepath.Dir(d.dir), 0o755)) // the agent's user has to pass
			d.follows(name, filepath.Join(d.home, "watcher.yaml"))
		})
	}
}

// follows does what an example says.
func (d *desk) follows(name, config string) {
	d.Helper()
	told := comments(d.T)[root+"/configs/examples/"+name]
	d.instead = strings.NewReplacer("/srv/torno/outbox", d.dir+"/outbox", "/var/lib/torno", d.home+"/lib", "/etc/torno/watcher.yaml", config,
		"configs/examples/"+name, config, "systemctl enable --now torno-watcher", "watcher run --config "+config)
	text, err := os.ReadFile(filepath.Join(root, "configs/examples", name))
	must(d.T, err)
	must(d.T, os.WriteFile(config, []byte(d.instead.Replace(string(text))), 0o600))
	host := ""
	if name == "minimal.yaml" { // it names no launcher, so it needs the engine
		host = "export DOCKER_HOST='" + os.Getenv("DOCKER_HOST") + "'\n"
	}
	sudo := host + "sudo() { \"$@\"; }\n"
	end := d.starts(block{page: name, text: sudo + told}, func(said string) bool { return strings.Contains(said, `"msg":"serving"`) })
	agents := filepath.Join(d.dir, "agent")
	must(d.T, os.Mkdir(agents, 0o700))
	must(d.T, os.Chown(agents, 1000, 1000))
	c := d.shell("export HOME=" + agents + "; unset XDG_STATE_HOME; subagent spawn --wait -- 'echo hello'")
	c.SysProcAttr.Credential = &syscall.Credential{Uid: 1000, Gid: 1000}
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "hello") {
		d.Errorf("%s: a child: %v\n%s", name, err, out)
	}
	end()
	d.types(block{page: name, text: host + "watcher purge --yes --config " + config})
}

// TestTheGatewayAlone types what the page says for trying the gateway against a stand-in, without any sandbox.
func TestTheGatewayAlone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	project, err := filepath.Abs(root)
	must(t, err)
	d := newDesk(t, "127.0.0.1:9999", address, "go run", "cd "+project+" && go run")
	d.starts(named(t, "docs/GATEWAY.md", "go run ./test/upstream --listen 127.0.0.1:9999 --key sk-stand-in-0123456789"), func(string) bool {
		there, err := net.Dial("tcp", address)
		if err == nil {
			there.Close()
		}
		return err == nil
	})
	d.starts(named(t, "docs/GATEWAY.md", "make build"), func(string) bool { return d.exists("gateway-state/gateway.sock") })
	said := d.types(named(t, "docs/GATEWAY.md", "curl --unix-socket gateway-state/gateway.sock http://gateway/v1/doors -d '{"))
	if !strings.Contains(said, "message_stop") {
		t.Errorf("the model's answer is missing in\n%s", said)
	}
}
