package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
	"torno/test/wait"
)

// flaky stands between a launcher and its engine, and spoils one call when it is told to.
type flaky struct {
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	op    string
	after bool // the engine does what it was asked, and its answer is lost
	fired int
	mute  *regexp.Regexp    // calls that are never answered
	muted chan struct{}     // told of each, if there is room
	dead  *regexp.Regexp    // calls that come when the engine is removing the container
	lie   *strings.Replacer // changes what the engine answers to an inspection
}

// routes are the calls of the API that a run makes.
var routes = map[string]*regexp.Regexp{
	"create":  regexp.MustCompile(`^POST /v[0-9.]+/containers/create$`),
	"attach":  regexp.MustCompile(`^POST /v[0-9.]+/containers/[0-9a-f]+/attach$`),
	"start":   regexp.MustCompile(`^POST /v[0-9.]+/containers/[0-9a-f]+/start$`),
	"wait":    regexp.MustCompile(`^POST /v[0-9.]+/containers/[0-9a-f]+/wait$`),
	"inspect": regexp.MustCompile(`^GET /v[0-9.]+/containers/[^/]+/json$`),
	"remove":  regexp.MustCompile(`^DELETE /v[0-9.]+/containers/[0-9a-f]+$`),
}

// newFlaky listens at a socket of its own.
func newFlaky(t *testing.T, engine string) (*flaky, string) {
	t.Helper()
	f := &flaky{muted: make(chan struct{}, 1), proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", engine)
		}},
		FlushInterval: -1,
	}}
	f.proxy.ModifyResponse = f.change
	dir, err := os.MkdirTemp("", "flaky-*") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(f)
	server.Listener.Close()
	server.Listener = listener
	ctx, over := context.WithCancel(context.Background())
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() {
		over() // the engine holds on to streams of which only one side has ended
		server.CloseClientConnections()
		server.Close()
		f.proxy.Transport.(*http.Transport).CloseIdleConnections()
	})
	return f, "unix://" + listener.Addr().String()
}

// change has the engine say something else of a container than it knows.
func (f *flaky) change(r *http.Response) error {
	f.mu.Lock()
	lie := f.lie
	f.mu.Unlock()
	if lie == nil || !routes["inspect"].MatchString(r.Request.Method+" "+r.Request.URL.Path) {
		return nil
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	changed := lie.Replace(string(text))
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
	r.Header.Set("Content-Length", strconv.Itoa(len(changed)))
	return err
}

// spoil arms one fault.
func (f *flaky) spoil(op string, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.op, f.after, f.fired = op, after, 0
}

// met is how often the armed fault was met.
func (f *flaky) met() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// strikes says whether this request is the one, which is then over.
func (f *flaky) strikes(r *http.Request) (strikes, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.op == "" || !routes[f.op].MatchString(r.Method+" "+r.URL.Path) {
		return false, false
	}
	f.op = ""
	f.fired++
	return true, f.after
}

// among says whether this request is one of the calls, if there are any.
func (f *flaky) among(calls **regexp.Regexp, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *calls != nil && (*calls).MatchString(r.Method+" "+r.URL.Path)
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	strikes, after := f.strikes(r)
	switch {
	case f.among(&f.mute, r):
		select {
		case f.muted <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	case f.among(&f.dead, r):
		http.Error(w, `{"message":"can not get logs from container which is dead or marked for removal"}`, http.StatusConflict)
	case !strikes:
		f.proxy.ServeHTTP(w, r)
	case after:
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
		fallthrough
	default:
		http.Error(w, `{"message":"spoiled"}`, http.StatusInternalServerError)
	}
}

// newFlakyField is a field with something between it and its engine.
func newFlakyField(t *testing.T) (*field, *flaky) {
	engine, here := strings.CutPrefix(needEngine(t).DaemonHost(), "unix://")
	if !here {
		t.Skip("the engine has no socket here to stand in front of")
	}
	between, host := newFlaky(t, engine)
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}, ctx: t.Context()}
	f.house = newHouse(t, func(o *docker.Options) { o.Host, o.Observe = host, f.calls.observe })
	f.Launcher = f.house.launch(f.base, "ours")
	f.mkdir("workspace")
	return f, between
}

// TestNewsOfMemoryThatComesLate has an engine whose state of a container does not say that memory ended it, as it is on a
// busy machine when that news comes after that of the end. Its events say it.
func TestNewsOfMemoryThatComesLate(t *testing.T) {
	f, between := newFlakyField(t)
	between.mu.Lock()
	between.lie = strings.NewReplacer(`"OOMKilled":true`, `"OOMKilled":false`)
	between.mu.Unlock()
	hog := f.spec("/usr/bin/tail", "/dev/zero")
	hog.Limits.Memory = 48 << 20
	if e := f.runUnseen(hog); !e.exit.OutOfMemory || e.exit.Code != 137 {
		t.Errorf("memory ended it: %+v", e.exit)
	}
	f.calls.take()
	if e := f.runUnseen(f.spec("/bin/sh", "-c", "kill -KILL $$")); e.exit.OutOfMemory || e.exit.Code != 137 {
		t.Errorf("it ended itself: %+v", e.exit)
	}
	if asked := f.calls.take(); asked["other"] != 2 { // one call tells the engine at the start
		t.Errorf("the engine's events were not asked: %v", asked)
	}
	h := f.create(f.spec("/bin/sleep", "1000000"))
	defer f.remove(h)
	a := f.start(h)
	f.must(a.Signal(f.ctx, sandbox.Kill))
	if e := f.finish(a); e.exit.OutOfMemory || e.exit.Code != 137 || f.calls.take()["other"] != 1 {
		t.Errorf("we ended it: %+v", e.exit)
	}
}

// asksForLog is the call for the log of a sandbox.
var asksForLog = regexp.MustCompile(`^GET /v[0-9.]+/containers/[0-9a-f]+/logs$`)

// TestALogThatGoesWithItsSandbox asks for the log of a sandbox that the engine is removing.
func TestALogThatGoesWithItsSandbox(t *testing.T) {
	f, between := newFlakyField(t)
	h := f.create(f.spec("/bin/sleep", "1000000"))
	defer f.remove(h)
	f.must(f.start(h).Close())
	between.mu.Lock()
	between.dead = asksForLog
	between.mu.Unlock()
	if _, err := f.Open(f.ctx, h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("whoever asks hears %v", err)
	}
}

// TestALogThatIsNotHandedOutIsNotWaitedFor has an engine that hangs when it is asked for the log of a sandbox.
func TestALogThatIsNotHandedOutIsNotWaitedFor(t *testing.T) {
	f, between := newFlakyField(t)
	h := f.create(f.spec("/bin/sleep", "1000000"))
	defer f.remove(h)
	a := f.start(h)
	seen := <-a.Output()
	f.must(a.Close())
	between.mu.Lock()
	between.mute = asksForLog
	between.mu.Unlock()
	ctx, cancel := context.WithTimeout(f.ctx, 200*time.Millisecond)
	defer cancel()
	over := make(chan error, 1)
	go func() { _, err := f.Open(ctx, h, seen.Cursor); over <- err }()
	select {
	case err := <-over:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(wait.Patience):
		t.Error("it is waited for beyond its time")
	}
}

// TestAnInputThatCouldNotBeAttachedTo when the sandbox was opened is attached to by the next write.
func TestAnInputThatCouldNotBeAttachedTo(t *testing.T) {
	f, between := newFlakyField(t)
	spec := f.spec("/bin/cat")
	spec.Process.Stdin, spec.Process.Lasting = true, true
	h := f.create(spec)
	defer f.remove(h)
	seen := <-f.start(h).Output()
	f.house.crash(f.Launcher)
	f.Launcher = f.house.launch(f.base, "ours")
	between.spoil("attach", false)
	a, err := f.Open(f.ctx, h, seen.Cursor)
	f.must(err)
	defer a.Close()
	if between.met() != 1 {
		t.Fatal("the oracle is dead: the input was attached to")
	}
	_, err = a.Input().Write([]byte("hello\n"))
	f.must(err)
	said := ""
	for !strings.Contains(said, "hello\n") {
		select {
		case chunk := <-a.Output():
			said += string(chunk.Bytes)
		case <-time.After(wait.Patience):
			t.Fatalf("it says %q", said)
		}
	}
}

// TestCloseCutsAStartOff that the engine never answers, whichever of its calls it is.
func TestCloseCutsAStartOff(t *testing.T) {
	for _, op := range []string{"attach", "start"} {
		t.Run(op, func(t *testing.T) { closeCutsOff(t, op) })
	}
}

func closeCutsOff(t *testing.T, op string) {
	f, between := newFlakyField(t)
	h := f.create(f.spec("/bin/true"))
	between.mu.Lock()
	between.mute = routes[op]
	between.mu.Unlock()
	started := make(chan error, 1)
	go func() { started <- f.Start(f.ctx, h) }()
	<-between.muted
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		f.house.crash(f.Launcher)
	}()
	for range 2 {
		select {
		case <-closed:
			closed = nil
		case err := <-started:
			if err == nil {
				t.Error("it was started")
			}
		case <-time.After(time.Minute): // the engine has two for an answer
			t.Fatal("Close waits for a start that the engine does not answer")
		}
	}
	between.mu.Lock()
	between.mute = nil
	between.mu.Unlock()
	f.Launcher = f.house.launch(f.base, "ours")
	if again, err := f.List(f.ctx); err != nil || len(again) != 1 {
		t.Errorf("afterwards there are %v, %v", again, err)
	}
}

// TestEachCallFailsOnce spoils every kind of call of a run, before and after the engine has done its part. A caller that tries
// again gets the run, whole and once, and nothing is left of it.
func TestEachCallFailsOnce(t *testing.T) {
	f, between := newFlakyField(t)
	for op := range routes {
		for _, after := range []bool{false, true} {
			if after && (op == "attach" || op == "wait") {
				continue // an answer that is a stream cannot come and be lost
			}
			t.Run(op+map[bool]string{false: " is not done", true: " is done and not said"}[after], func(t *testing.T) {
				f := &field{TB: t, Launcher: f.Launcher, house: f.house, base: f.base, calls: f.calls, ctx: t.Context()}
				between.spoil(op, after)
				f.persist()
				if n := between.met(); n != 1 {
					t.Errorf("the fault was met %d times", n)
				}
			})
		}
	}
}

// persist makes a run and repeats what fails.
func (f *field) persist() {
	f.Helper()
	marks := filepath.Join(f.base, "workspace", "marks")
	f.must(os.RemoveAll(marks))
	spec := f.spec("/bin/sh", "-c", "echo ran >>marks; echo said")
	var h sandbox.Handle
	var a sandbox.Attachment
	id := sandbox.NewSandboxID()
	f.twice("a launch", func() (err error) {
		if h, err = f.Create(f.ctx, id, spec); err != nil {
			return err
		}
		if a, err = f.launchOnce(h); err != nil { // it held, at most
			f.twice("Remove", func() error { return f.Remove(f.ctx, h) })
			id = sandbox.NewSandboxID()
		}
		return err
	})
	var said string
	var cursor sandbox.Cursor
	f.twice("a run", func() (err error) {
		if cursor != "" {
			a, err = f.Open(f.ctx, h, cursor)
		}
		if err != nil {
			return err
		}
		defer a.Close()
		for chunk := range a.Output() {
			cursor = chunk.Cursor
			if chunk.Stream == sandbox.Stdout {
				said += string(chunk.Bytes)
			}
		}
		_, err = a.Wait(f.ctx)
		return err
	})
	f.twice("Remove", func() error { return f.Remove(f.ctx, h) })
	if content, err := os.ReadFile(marks); err != nil || string(content) != "ran\n" {
		f.Errorf("the agent's marks are %q, %v", content, err)
	}
	if said != "said\n" {
		f.Errorf("the agent said %q", said)
	}
	f.nothingLeft()
}

// launchOnce starts, opens and releases a sandbox.
func (f *field) launchOnce(h sandbox.Handle) (sandbox.Attachment, error) {
	if err := f.Start(f.ctx, h); err != nil {
		return nil, err
	}
	a, err := f.Open(f.ctx, h, "")
	if err != nil {
		return nil, err
	}
	if _, err := local.Release(f.ctx, f, h, a); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (f *field) twice(what string, do func() error) {
	f.Helper()
	if err := do(); err != nil {
		f.Logf("%s: %v", what, err)
		if err := do(); err != nil {
			f.Fatalf("%s, again: %v", what, err)
		}
	}
}

// nothingLeft of any run.
func (f *field) nothingLeft() {
	f.Helper()
	all, err := f.List(f.ctx)
	f.must(err)
	dir, _ := f.house.state("ours")
	slots, err := os.ReadDir(filepath.Join(dir, "docker", "slots"))
	if err != nil || len(all)+len(slots) > 0 {
		f.Errorf("left are the sandboxes %v and the slots %v, %v", all, slots, err)
	}
}
