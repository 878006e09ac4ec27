package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/socket"
	"torno/manager"
	tests "torno/test/wait"
)

// shared is a server on a socket.
type shared struct {
	*stage
	server *Server
	path   string
	stop   context.CancelFunc
	ended  chan error
}

// serveSocket starts a server on a socket, in a directory of ours. wrap may change the listener.
func (s *stage) serveSocket(o Options, wrap ...func(net.Listener) net.Listener) *shared {
	s.Helper()
	server := s.newServer(o)
	dir := filepath.Join(filepath.Dir(s.path), "own")
	s.check(os.Mkdir(dir, 0o700))
	sh := &shared{stage: s, server: server, path: filepath.Join(dir, "mcp.sock"), ended: make(chan error, 1)}
	listener, err := server.ListenSocket(s.Context(), sh.path)
	s.check(err)
	for _, wrap := range wrap {
		listener = wrap(listener)
	}
	ctx, stop := context.WithCancel(context.Background())
	sh.stop = stop
	go func() { sh.ended <- server.ServeSocket(ctx, listener) }()
	s.Cleanup(func() { sh.end() })
	return sh
}

func (s *stage) newServer(o Options) *Server {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	s.Cleanup(func() { m.Close() })
	o.Env = func(name string) string { return s.env[name] }
	server, err := New(m, o)
	s.check(err)
	return server
}

// end ends the server, once.
func (sh *shared) end() {
	sh.Helper()
	if sh.stop == nil {
		return
	}
	sh.stop()
	sh.stop = nil
	if err := <-sh.ended; err != nil {
		sh.Error("the server ended with", err)
	}
}

// join starts a client that speaks through Forward, and has said hello.
func (sh *shared) join() *peer {
	sh.Helper()
	p := sh.client(func(ctx context.Context, in io.Reader, out io.Writer) error { return Forward(ctx, sh.path, in, out) })
	p.server = sh.server
	sh.Cleanup(p.leave)
	p.greet()
	return p
}

// TestASocketIsShared: what one client begins the other waits for, budgets count both, and the end of one ends its own waits alone.
func TestASocketIsShared(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	sh := s.serveSocket(Options{Budgets: Budgets{Children: 1}, Fresh: -1})
	p, q := sh.join(), sh.join()
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	if r := q.tool("delegate", `{"tasks":[{"id":"b","task":"x"}]}`); !r.IsError {
		t.Errorf("the budget of both is one child, and there are two: %s", r.Struct)
	}
	p.begin("p", "wait", `{}`)
	q.begin("q", "wait", `{"ids":["a"]}`)
	waitFor(t, func() bool { return len(sh.server.waits) == 2 })
	p.to.Close()
	if r := p.hear(); !strings.Contains(string(r.Result), "the client has ended") {
		t.Errorf("the server waits for a client that has ended: %s", r.Result)
	}
	p.leave()
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
	if r := q.hear(); !strings.Contains(string(r.Result), "yes") {
		t.Errorf("the other client hears %s", r.Result)
	}
	q.leave()
	sh.end()
	if _, err := os.Lstat(sh.path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the socket is left:", err)
	}
	if left, err := os.ReadDir(filepath.Dir(sh.path)); err != nil || len(left) > 0 {
		t.Errorf("there is left: %v, %v", left, err)
	}
}

// TestAResultThatNobodyReadGoesOutAgain: a client dies with the answer in its socket. What other clients say then proves nothing about it.
func TestAResultThatNobodyReadGoesOutAgain(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	sh := s.serveSocket(Options{Fresh: -1})
	p := sh.join()
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
	p.tool("wait", `{}`)
	p.leave()                // it has asked for nothing since
	waitFor(t, func() bool { // the server has seen that it is gone
		for range sh.server.protocol.Sessions() {
			return false
		}
		return true
	})
	q := sh.join()
	if r := q.tool("wait", `{}`); r.IsError || !strings.Contains(string(r.Struct), "yes") {
		t.Errorf("the next client hears %s", r.Struct)
	}
	if r := q.tool("wait", `{}`); !r.IsError { // and this says that it has the result
		t.Errorf("it has another result: %s", r.Struct)
	}
	q.leave()
	sh.end()
	m, err := manager.New(s.path, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Attach("a"); !errors.Is(err, manager.ErrNoRun) {
		t.Errorf("a result that was read is still there: %v", err)
	}
}

// TestEachClientThatWasToldCounts: two clients have looked at one result. Either of them can say that it has the result.
func TestEachClientThatWasToldCounts(t *testing.T) {
	for _, says := range []string{"first", "second"} {
		c := &children{}
		c.put(child{id: "a", request: "r", told: map[string]int64{}})
		for _, session := range []string{"first", "second"} {
			c.noteHeard(session)
			c.told(session, "a", "r")
		}
		if _, has := c.deliveredOf("a"); has {
			t.Error("no client has said anything since")
		}
		c.noteHeard(says)
		if _, has := c.deliveredOf("a"); !has {
			t.Error("the word does not count of the client that was told", says)
		}
		c.forgetSessions(func(string) bool { return false })
		if _, has := c.deliveredOf("a"); !has || len(c.open()) > 0 {
			t.Error("the word is forgotten of the client that was told", says)
		}
	}
	c := &children{}
	c.put(child{id: "a", request: "r", told: map[string]int64{}})
	c.told("gone", "a", "r")
	c.told("lives", "a", "r")
	c.forgetSessions(func(session string) bool { return session == "lives" })
	if len(c.open()) > 0 {
		t.Error("it goes out again although a client lives that was told")
	}
	c.forgetSessions(func(string) bool { return false })
	if len(c.open()) == 0 {
		t.Error("it does not go out again")
	}
}

// TestAWorkspaceThatIsGoneBlocksNothing: the result stays in the outbox, until its client asks for the subagent's next run.
func TestAWorkspaceThatIsGoneBlocksNothing(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{Fresh: -1})
	const task = `{"tasks":[{"id":"a","task":"x"}]}`
	p.tool("delegate", task)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
	if err := os.RemoveAll(filepath.Join(s.path, manager.Workspaces, "a")); err != nil {
		t.Fatal(err)
	}
	if r := p.tool("wait", `{}`); !strings.Contains(string(r.Struct), "cannot be looked into") {
		t.Errorf("its client hears %s", r.Struct)
	}
	p.tool("status", `{}`) // which says that it has the result
	run, err := p.manager.Attach("a")
	if err != nil {
		t.Fatal("its result was taken without its answer:", err)
	}
	if r := p.tool("delegate", task); r.IsError {
		t.Errorf("its next run: %s", r.Struct)
	}
	if next, err := p.manager.Attach("a"); err != nil || next.RequestID() == run.RequestID() {
		t.Errorf("%v, %v", next, err)
	}
}

// TestClientsOfASocketAreToldApart: what one has seen is not what the other has seen.
func TestClientsOfASocketAreToldApart(t *testing.T) {
	who := Tool{Name: "who", Input: `{"type":"object"}`, Call: func(ctx context.Context, desk *Desk, _ json.RawMessage) (*Page, error) {
		return desk.Page().Printf("you are %q", desk.Session(ctx)), nil
	}}
	sh := newStage(t).serveSocket(Options{Set: "x", Sets: []Set{{Name: "x", Tools: []Tool{who}}}})
	seen := map[string]int{}
	for range 2 {
		p := sh.join()
		for range 2 {
			seen[p.tool("who", `{}`).Content[0].Text]++
		}
	}
	if len(seen) != 2 || seen[`you are ""`] > 0 {
		t.Errorf("two clients are %v", seen)
	}
}

// TestClientsOfASocketAreBounded: one for which there is no place is told so.
func TestClientsOfASocketAreBounded(t *testing.T) {
	sh := newStage(t).serveSocket(Options{})
	for range maxSessions {
		sh.join()
	}
	var out strings.Builder
	in, _ := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), tests.Patience)
	defer cancel()
	if err := Forward(ctx, sh.path, in, &out); err == nil || !strings.Contains(out.String(), "too many clients") {
		t.Errorf("one too many hears %q, %v", out.String(), err)
	}
}

// TestAServerEndsWithAClientThatReadsNothing: the answer that waits for its reader does not keep it.
func TestAServerEndsWithAClientThatReadsNothing(t *testing.T) {
	server := newStage(t).newServer(Options{})
	client, conn := net.Pipe() // which holds nothing, so that a write lasts until it is read
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.serveConnection(ctx, conn)
	}()
	if _, err := io.WriteString(client, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err != nil { // so that the answer is being written
		t.Fatal(err)
	}
	stop()
	select {
	case <-ended:
	case <-time.After(tests.Patience):
		t.Fatal("the server waits for a client that reads nothing")
	}
}

// TestAClientIsToldThatItsServerHasEnded.
func TestAClientIsToldThatItsServerHasEnded(t *testing.T) {
	sh := newStage(t).serveSocket(Options{})
	p := sh.client(func(ctx context.Context, in io.Reader, out io.Writer) error { return Forward(ctx, sh.path, in, out) })
	p.greet()
	sh.end()
	if err := <-p.served; err == nil || !strings.Contains(err.Error(), "the server has closed the connection") {
		t.Error("a client hears:", err)
	}
}

// talker sends lines to the server until the server no longer reads. It stands for a client's input.
type talker struct{ refused chan struct{} }

func (t talker) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (t talker) WriteTo(w io.Writer) (n int64, err error) {
	for err == nil {
		_, err = io.WriteString(w, hello+"\n")
	}
	close(t.refused)
	return 0, err
}

// TestAClientThatSpeaksIsToldThatItsServerHasEnded: a server that no longer reads is not taken for an input that ended.
func TestAClientThatSpeaksIsToldThatItsServerHasEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	from, out := io.Pipe()
	in, ended := talker{make(chan struct{})}, make(chan error, 1)
	go func() { ended <- Forward(t.Context(), path, in, out) }()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "{}\n") // which waits to be read, so that Forward has not seen the end
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	<-in.refused
	go func() { _, _ = io.Copy(io.Discard, from) }()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the server has closed the connection") {
		t.Error("a client that speaks hears:", err)
	}
}

// shortOf is a listener that fails to accept, once with each error.
type shortOf struct {
	net.Listener
	errs []error
}

func (l *shortOf) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return l.Listener.Accept()
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// TestAShortageEndsNoServer: when the process has no descriptor left, the server goes on accepting as soon as it has one.
func TestAShortageEndsNoServer(t *testing.T) {
	sh := newStage(t).serveSocket(Options{}, func(l net.Listener) net.Listener {
		return &shortOf{Listener: l, errs: []error{syscall.EMFILE, syscall.ECONNABORTED}}
	})
	sh.join()
	broken := errors.New("broken")
	short := &shortOf{Listener: nil, errs: []error{broken}}
	if err := sh.server.accept(t.Context(), short, nil); !errors.Is(err, broken) {
		t.Errorf("a listener that is broken ends with %v", err)
	}
}

// TestADirectoryOfAnotherUser is no place for a socket, whatever its group may write: clients would not trust the socket.
func TestADirectoryOfAnotherUser(t *testing.T) {
	own, others := t.TempDir(), "/"
	if os.Geteuid() == 0 {
		others = t.TempDir()
		if err := os.Chown(others, 4711, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := isOurOwn(own); err != nil {
		t.Error(err)
	}
	if err := isOurOwn(others); err == nil || !strings.Contains(err.Error(), "mkdir -m 700") {
		t.Errorf("a directory of another user: %v", err)
	}
}

// TestASocketIsItsOwners: it is closed to other users, and lies where no other user may put a socket of his own, and no child finds it. A
// client looks as well as a server: it says nothing to a socket that another user could have made.
func TestASocketIsItsOwners(t *testing.T) {
	s := newStage(t)
	sh := s.serveSocket(Options{})
	if info, err := os.Lstat(sh.path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	dir := filepath.Join(filepath.Dir(s.path), "dir")
	for what, c := range map[string]struct {
		mode fs.FileMode
		uid  int
	}{
		"all may write":          {0o777, os.Geteuid()},
		"all may write, sticky":  {0o777 | fs.ModeSticky, os.Geteuid()},
		"another user has it":    {0o700, 4711},
		"it is of another group": {0o770, os.Geteuid()},
	} {
		s.check(os.Mkdir(dir, 0o700))
		if os.Geteuid() == 0 {
			s.check(os.Chown(dir, c.uid, 4711))
		}
		s.check(os.Chmod(dir, c.mode))
		if os.Geteuid() == 0 || c.mode&0o002 != 0 {
			path := filepath.Join(dir, "mcp.sock")
			if l, err := sh.server.ListenSocket(t.Context(), path); err == nil || !strings.Contains(err.Error(), "mkdir -m 700") {
				t.Errorf("%s, and it is listened there: %v, %v", what, l, err)
			}
			squat, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
			s.check(err)
			if err := Forward(t.Context(), path, strings.NewReader("secret"), io.Discard); err == nil || !strings.Contains(err.Error(), "mkdir -m 700") {
				t.Errorf("%s, and a client speaks there: %v", what, err)
			}
			squat.Close()
		}
		s.check(os.RemoveAll(dir))
	}
	inside := filepath.Join(s.path, "workspaces")
	s.check(os.MkdirAll(inside, 0o755))
	s.check(os.Symlink(inside, dir))
	for _, path := range []string{filepath.Join(s.path, "s"), filepath.Join(inside, "s"), filepath.Join(dir, "s")} {
		if _, err := sh.server.ListenSocket(t.Context(), path); err == nil || !strings.Contains(err.Error(), "lies in the outbox") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWhatIsThereStays: only a socket on which nobody listens is replaced.
func TestWhatIsThereStays(t *testing.T) {
	s := newStage(t)
	sh := s.serveSocket(Options{})
	dir := filepath.Dir(sh.path)
	if _, err := s.newServer(Options{}).ListenSocket(t.Context(), sh.path); err == nil || !strings.Contains(err.Error(), "another server listens there (process ") {
		t.Errorf("a second server: %v", err)
	}
	sh.join() // the first one is as before

	other, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "other"))
	s.check(err)
	defer other.Close()
	s.check(os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600))
	s.check(os.Symlink("other", filepath.Join(dir, "link")))
	for name, want := range map[string]string{"other": "another program listens there", "file": "the file there is not a socket", "link": "the file there is not a socket"} {
		was, err := os.Lstat(filepath.Join(dir, name))
		s.check(err)
		if _, err := sh.server.ListenSocket(t.Context(), filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if is, err := os.Lstat(filepath.Join(dir, name)); err != nil || !os.SameFile(was, is) {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}

	// A server that was killed leaves its socket and its lock's file. Of many that start then one listens.
	dead, err := socket.Listen(dir, "dead", 0o600)
	s.check(err)
	s.check(dead.Close())
	s.check(os.WriteFile(filepath.Join(dir, "dead.lock"), []byte("process 1\n"), 0o600))
	began := make(chan net.Listener)
	const servers = 8
	for range servers {
		server := s.newServer(Options{})
		go func() {
			l, _ := server.ListenSocket(t.Context(), filepath.Join(dir, "dead"))
			began <- l
		}()
	}
	var listening []net.Listener
	for range servers {
		if l := <-began; l != nil {
			listening = append(listening, l)
		}
	}
	if len(listening) != 1 {
		t.Fatalf("%d servers listen", len(listening))
	}
	conn, err := socket.Dial(t.Context(), dir, "dead")
	s.check(err)
	conn.Close()
	s.check(listening[0].Close())
	s.check(listening[0].Close()) // a second time takes nothing of a later server
}

// TestWhatIsForwardedBeforeTheEndIsAnswered: a script writes its calls and ends its output.
func TestWhatIsForwardedBeforeTheEndIsAnswered(t *testing.T) {
	sh := newStage(t).serveSocket(Options{})
	var out strings.Builder
	sh.check(Forward(t.Context(), sh.path, strings.NewReader(hello+"\n"), &out))
	if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), `"serverInfo"`) {
		t.Errorf("it hears %q", out.String())
	}
	sh.end()
	if err := Forward(t.Context(), sh.path, strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "no server listens there") {
		t.Errorf("without a server: %v", err)
	}
}
