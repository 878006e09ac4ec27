package units

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/control"
	"torno/internal/gateway/process"
	"torno/internal/retry"
	"torno/test/house"
)

// gatewayService is the name by which this program starts the gateway as its service is started.
const gatewayService = "gateway-service"

// gatewayIs names the program in the environment.
const gatewayIs = "TORNO_TEST_GATEWAY"

// gatewayUser is the service's user here: no user of this machine.
const gatewayUser = 64_000

// executeAs becomes the gateway, as another user behind the walls that are asked for.
func executeAs(program string) error {
	runtime.LockOSThread()
	var walls Walls
	if err := json.Unmarshal([]byte(os.Getenv(wallsAre)), &walls); err != nil {
		return err
	}
	if err := walls.Enter(); err != nil {
		return err
	}
	// Only this thread changes: it is the one that goes on. C's library, which would change all of them, is not here.
	for _, err := range []error{
		call(unix.SYS_SETGROUPS, 0, 0, 0), call(unix.SYS_SETRESGID, gatewayUser, gatewayUser, gatewayUser),
		call(unix.SYS_SETRESUID, gatewayUser, gatewayUser, gatewayUser),
	} {
		if err != nil {
			return err
		}
	}
	return syscall.Exec(program, append([]string{program}, os.Args[1:]...), []string{"PATH=/usr/bin:/bin", "CREDENTIALS_DIRECTORY=" + os.Getenv("CREDENTIALS_DIRECTORY")})
}

func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// serveGateway starts the gateway as its service, and returns its directory.
func serveGateway(t *testing.T, credentials string) string {
	t.Helper()
	walls, err := gatewayUnit(t).Walls()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(walls)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gateway") // a short name: sockets lie in there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	state := filepath.Join(dir, "state")
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(state, 0o700), os.Chown(state, gatewayUser, gatewayUser)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--state", state)
	cmd.Args[0] = gatewayService
	cmd.Env = []string{wallsAre + "=" + string(text), "CREDENTIALS_DIRECTORY=" + credentials, gatewayIs + "=" + house.Program("model-gateway")}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	c := control.Dial(state)
	defer c.Close()
	for {
		_, err := c.Status(t.Context())
		if err == nil {
			return state
		}
		select {
		case <-ended:
			t.Fatalf("the gateway ended: %s", &said)
		default:
		}
		if !errors.Is(err, control.ErrNoGateway) || retry.Pause(t.Context(), retry.Later) != nil {
			t.Fatal(err)
		}
	}
}

// TestTheGatewayAsAService: it serves as a user without rights behind its walls, with a credential from systemd, and a watcher behind
// its own walls reaches it and tells it its routes.
func TestTheGatewayAsAService(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		need(t, sandbox)
		var key string
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key = r.Header.Get("Authorization")
			w.Write([]byte("hello"))
		}))
		defer upstream.Close()
		credentials := t.TempDir()
		os.Chmod(filepath.Dir(credentials), 0o755)
		for name, err := range map[string]error{
			"write": os.WriteFile(filepath.Join(credentials, "registry"), []byte("key-of-the-host"), 0o400),
			"give":  os.Chown(filepath.Join(credentials, "registry"), gatewayUser, gatewayUser),
			"dir":   os.Chown(credentials, gatewayUser, gatewayUser),
		} {
			if err != nil {
				t.Fatal(name, err)
			}
		}
		state := serveGateway(t, credentials)
		p := plan(sandbox)
		p.Top = "gateway: {state: " + state + ", routes: {npm: {preset: npm, upstream: \"" + upstream.URL + "\", http_to: 127.0.0.1, private: true, credential: {systemd: registry}}}}"
		h := open(t, service(t), p)
		h.Start()
		c := control.Dial(state)
		defer c.Close()
		if status, err := c.Status(t.Context()); err != nil || len(status.Routes) != 1 {
			t.Fatalf("it was told %+v, %v", status, err)
		}
		door, err := c.Open(t.Context(), gateway.Spec{
			ID: "try", Lasts: gateway.Duration(time.Hour), Peer: gateway.Peer{Anyone: true}, Routes: []gateway.Way{{Route: "npm"}},
			Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: "try"}}},
		})
		h.Must(err)
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", door.Socket)
		}}}
		answer, err := client.Get("http://localhost/left-pad")
		h.Must(err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || !strings.HasSuffix(key, "key-of-the-host") {
			t.Errorf("the answer is %s, and the upstream was told %q", answer.Status, key)
		}
	})
}

// TestWhatTheServiceMayNotStart: a gateway behind the watcher's own walls could not speak to the network. The watcher says so, and serves.
func TestWhatTheServiceMayNotStart(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		need(t, sandbox)
		p := plan(sandbox)
		p.Top = "gateway: {routes: {claude: {preset: anthropic}}}"
		h := open(t, service(t), p)
		h.Start()
		status, err := h.Client.Status(t.Context())
		h.Must(err)
		if notices := status.Outboxes[0].Notices; len(notices) != 1 || notices[0].Code != delegation.NoticeGateway {
			t.Errorf("clients are told %+v", notices)
		}
		if _, err := os.Lstat(filepath.Join(h.State, "gateway", process.LogName)); !errors.Is(err, fs.ErrNotExist) { // its log is opened before it is started
			t.Errorf("it started one: %v", err)
		}
		h.Want(h.Run(house.Ask{ID: "s1", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	})
}
