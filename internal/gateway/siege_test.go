package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"torno/internal/gateway/budget"
	"torno/test/wait"
)

// TestASentRequestIsNotHeld: a child keeps its answers open. What it had sent is not kept with them: the bound on requests counts
// only those that are not sent yet.
func TestASentRequestIsNotHeld(t *testing.T) {
	r, _, _ := sendMany(t)
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	if held := r.g.bodies.used.Load(); held != 0 {
		t.Errorf("%d bytes count as held", held)
	}
}

// TestASentRequestLeavesTheHeap: what does not count as held is not held.
func TestASentRequestLeavesTheHeap(t *testing.T) {
	before := heap()
	_, sent, after := sendMany(t)
	if after > before+sent/4 {
		t.Errorf("%d MB of requests that were sent, and %d MB more are held", sent>>20, (after-before)>>20)
	}
}

// sendMany has many large requests under way whose answers do not end until the test does. It returns how many bytes
// they have, and how large the heap is then.
func sendMany(t *testing.T) (r *rig, sent, after uint64) {
	t.Helper()
	const each, many = 900 << 10, 40
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		<-end
	}))
	t.Cleanup(func() { close(end); server.Close() })
	r = bare(t, server.URL)
	door := r.open(spec("run"))
	for range many {
		text := io.LimitReader(letters{}, each)
		body := io.MultiReader(strings.NewReader(`{"model":"stand-in","messages":[{"content":"`), text, strings.NewReader(`"}]}`))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+messages, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := door.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		t.Cleanup(func() { answer.Body.Close() })
	}
	return r, many * each, heap()
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what a pool keeps survives one
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// letters never end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// noKey is a credential that cannot be read.
type noKey struct{}

var errNoKey = errors.New("open /home/operator/.claude/.credentials.json: permission denied")

func (noKey) Header(context.Context) (name, value string, err error) { return "", "", errNoKey }
func (noKey) Refused(context.Context)                                {}

// TestAFailingCredentialNamesNothing: the child learns that there is none, and the log where it should be.
func TestAFailingCredentialNamesNothing(t *testing.T) {
	r := newRig(t)
	u := r.upstream("claude", "anthropic")
	u.Credential = noKey{}
	r.g.Use([]*Upstream{u}, nil)
	status, answer, err := say(t, r.open(spec2("run")), messages, "hello", false)
	if err != nil || status != http.StatusBadRequest || strings.Contains(answer, "operator") {
		t.Errorf("%d %s, %v", status, answer, err)
	}
	if !strings.Contains(r.said.String(), errNoKey.Error()) {
		t.Errorf("the log does not say why: %s", r.said)
	}
}

// TestManyModelsAreSaidOnce: a child that thinks of new names for models does not fill the host's log.
func TestManyModelsAreSaidOnce(t *testing.T) {
	r := newRig(t)
	s := spec("run")
	none := int64(0)
	s.Claims[0].Limits.Requests = &none // nothing of it has to leave
	door := r.open(s)
	begun := len(r.said.String())
	for i := range 50 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+messages, strings.NewReader(fmt.Sprintf(`{"model":"model-%d"}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := door.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	lines := strings.Count(r.said.String()[begun:], "level=WARN")
	if lines > 3 {
		t.Errorf("50 names of models are %d lines in the log", lines)
	}
}

// TestSecretsBehindAPrefix: what an upstream says back is recognised whatever stands before it in the header, also in a name.
func TestSecretsBehindAPrefix(t *testing.T) {
	for prefix, value := range map[string]string{"": secret, "Bearer ": "Bearer " + secret, "key=": "key=" + secret, "Key id=a secret=": "Key id=a secret=" + secret} {
		found := secretsOf(http.Header{}, http.Header{"Authorization": {value}}, prefix)
		if len(found) != 1 || found[0] != secret {
			t.Errorf("behind %q: %q", prefix, found)
		}
	}
	h := http.Header{http.CanonicalHeaderKey(secret): {"1"}, "X": {"a " + secret}}
	scrubHeader(h, []string{secret})
	if len(h) != 1 || strings.Contains(h.Get("X"), secret) {
		t.Errorf("%v", h)
	}
}

// TestAFewDoorsDoNotHoldAllMemory: requests that never end in some doors keep no other door from a usual one.
func TestAFewDoorsDoNotHoldAllMemory(t *testing.T) {
	all := &memory{most: maxBodies}
	var greedy []*held
	for range 2 * maxBodies / maxDoorBodies {
		h := &held{door: &memory{most: maxDoorBodies}, all: all}
		for h.grow(1<<20) == nil {
		}
		greedy = append(greedy, h)
	}
	usual := &held{door: &memory{most: maxDoorBodies}, all: all}
	if err := usual.grow(little); err != nil {
		t.Errorf("beside %d MiB of others: %v", all.used.Load()>>20, err)
	}
	for _, h := range append(greedy, usual) {
		h.release()
		h.release()
	}
	if left := all.used.Load(); left != 0 {
		t.Errorf("%d bytes are held behind the end", left)
	}
}

// TestPricesChangeMeanwhile: an exchange costs what it was reserved for, also where its price is gone when it ends.
func TestPricesChangeMeanwhile(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-end
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","usage":{"input_tokens":1000000,"output_tokens":1000000}}`)
	}))
	defer server.Close()
	r := bare(t, server.URL)
	door := r.open(spec("run"))
	go func() {
		<-asked
		r.g.Use([]*Upstream{r.upstream("claude", "anthropic")}, nil)
		close(end)
	}()
	if status, body, err := say(t, door, messages, "hello", false); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	if e := r.event(1); e.Cost.Money != 11*budget.Unit {
		t.Errorf("it cost %s", e.Cost.Money)
	}
}

// TestAnUpstreamThatGaveUp may have run its model: its error is not free, as others are.
func TestAnUpstreamThatGaveUp(t *testing.T) {
	for status, free := range map[int]bool{400: true, 429: true, 500: true, 529: true, 408: false, 499: false, 504: false, 524: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
		}))
		r := bare(t, server.URL)
		if got, body, err := say(t, r.open(spec("run")), messages, "hello", false); err != nil || got != status {
			t.Errorf("%d: %d %s, %v", status, got, body, err)
		}
		if e := r.event(1); (e.Cost.OutputTokens == 0) != free {
			t.Errorf("%d costs %+v", status, e.Cost)
		}
		server.Close()
	}
}

// TestABodyThatIsTooLargeIsNotAskedFor: a client that waits for a word before it sends learns it before.
func TestABodyThatIsTooLargeIsNotAskedFor(t *testing.T) {
	r := newRig(t)
	r.open(spec("run"))
	status, _ := raw(t, r, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", status)
	}
}

// blocked returns a rig whose gateway has found an earlier door. Something is in the way of the door's socket.
func blocked(t *testing.T) (r *rig, socket string) {
	t.Helper()
	r = newRig(t)
	r.open(spec("run"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.g.Shut(ended)
	socket = filepath.Join(r.dir, "run", socketName)
	if err := errors.Join(os.Remove(socket), os.MkdirAll(filepath.Join(socket, "in the way"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r.g = r.gateway()
	if err := r.g.Restore(); err != nil || len(r.g.Doors()) != 1 {
		t.Fatalf("%v, %d doors", err, len(r.g.Doors()))
	}
	return r, socket
}

// TestADoorThatCannotBeOpenedNow is opened when it can be: its run has no other way out.
func TestADoorThatCannotBeOpenedNow(t *testing.T) {
	r, socket := blocked(t)
	if _, err := r.g.Open(spec("run")); err == nil {
		t.Error("it is called open")
	}
	if err := os.RemoveAll(socket); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the door listens", func() bool {
		info, err := os.Stat(socket)
		return err == nil && info.Mode() == fs.ModeSocket|0o666
	})
	if _, err := r.g.Open(spec("run")); err != nil { // as a watcher asks that had no answer
		t.Error(err)
	}
	if status, body, err := say(t, client(t, socket), messages, "hello", false); err != nil || status != http.StatusOK {
		t.Errorf("%d %s, %v", status, body, err)
	}
}

// TestADoorThatWaitsCloses with its run, and with the gateway, and does not open later.
func TestADoorThatWaitsCloses(t *testing.T) {
	for name, ends := range map[string]func(*rig){
		"with its run":     func(r *rig) { r.g.Close("run") },
		"with the gateway": func(r *rig) { r.g.Shut(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			r, socket := blocked(t)
			d := r.g.doors["run"]
			ends(r) // waits for what tries to open it
			if err := os.RemoveAll(socket); err != nil {
				t.Fatal(err)
			}
			r.g.mu.Lock()
			defer r.g.mu.Unlock()
			if err := d.listen(); err != nil || d.listener != nil {
				t.Errorf("a try under way opens it: %v", err)
			}
			if _, err := os.Stat(r.g.specFile("run")); (err == nil) != (name == "with the gateway") {
				t.Errorf("its file: %v", err)
			}
		})
	}
}

// TestADoorThatCannotBeReadNow is not forgotten. Children that come back at once may have used up the gateway's descriptors.
func TestADoorThatCannotBeReadNow(t *testing.T) {
	r := newRig(t)
	r.open(spec("run"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.g.Shut(ended)
	file := r.g.specFile("run")
	if err := errors.Join(os.Rename(file, r.dir+"/aside"), os.Mkdir(file, 0o700)); err != nil { // also root cannot read it
		t.Fatal(err)
	}
	r.g = r.gateway()
	if err := r.g.Restore(); err != nil || len(r.g.Doors()) != 0 {
		t.Fatalf("%v, %d doors", err, len(r.g.Doors()))
	}
	if err := errors.Join(os.Remove(file), os.Rename(r.dir+"/aside", file)); err != nil {
		t.Fatal("the door is forgotten:", err)
	}
	r.g = r.gateway()
	if err := r.g.Restore(); err != nil || len(r.g.Doors()) != 1 {
		t.Errorf("at the next start: %v, %d doors", err, len(r.g.Doors()))
	}
	r.g.Shut(ended)
}
