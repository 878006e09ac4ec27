package docker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// fakeEngine answers what a test tells it to, and notes what would change something.
type fakeEngine struct {
	mu       sync.Mutex
	id       func(asked int) string
	asked    int
	landmark string            // when the volume with init was made
	labels   map[string]string // of the container of any name; nil where there is none
	changed  []string
}

func (f *fakeEngine) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Api-Version", engine.MinAPI)
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost || r.Method == http.MethodDelete:
		f.changed = append(f.changed, r.Method+" "+path[strings.LastIndex(path, "/")+1:])
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(path, "/info"):
		f.asked++
		fmt.Fprintf(w, `{"ID": %q, "DockerRootDir": "/data"}`, f.id(f.asked))
	case strings.Contains(path, "/volumes/"):
		fmt.Fprintf(w, `{"Name": "init", "Mountpoint": "/data/init", "CreatedAt": %q}`, f.landmark)
	case strings.Contains(path, "/containers/") && f.labels == nil:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no such container"}`)
	case strings.Contains(path, "/containers/"):
		fmt.Fprintf(w, `{"Id": "abc", "Config": {"Labels": {%q: %q, %q: %q}}}`, names.LabelInstallation, f.labels[names.LabelInstallation],
			names.LabelSandbox, f.labels[names.LabelSandbox])
	}
}

// launch is a launcher of a fake engine that has prepared nothing but its landmark.
func (f *fakeEngine) launch(t *testing.T) *Launcher {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	e, err := engine.Connect(t.Context(), "unix://"+socket, func(string, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	l := newLauncher(Options{Options: local.Options{Installation: local.Installation(strings.Repeat("0", 16)), Log: slog.New(slog.DiscardHandler)}}, e)
	l.names = names.Naming{Installation: l.options.Installation, State: "/state"}
	t.Cleanup(func() { l.Close() })
	first, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.identity.Learn(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	l.identity.SeeLandmark(t.Context(), "init")
	return l
}

// TestAnEngineIsAskedForItsNameAgain before anything is made on it, where it told none when the launcher was opened.
func TestAnEngineIsAskedForItsNameAgain(t *testing.T) {
	f := &fakeEngine{id: func(int) string { return "" }, landmark: "then"}
	l := f.launch(t)
	create := func() error {
		t.Helper()
		_, err := l.Create(t.Context(), sandbox.NewSandboxID(), sandbox.Spec{})
		if len(f.changed) > 0 {
			t.Errorf("it was told to %v", f.changed)
		}
		return err
	}
	if err := create(); !errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrOtherSite) {
		t.Errorf("on an engine without a name: %v", err)
	}
	f.set(func() { f.id, f.landmark = func(int) string { return "ABCD" }, "later" })
	if err := create(); !errors.Is(err, sandbox.ErrOtherSite) || l.identity.Name() != "" {
		t.Errorf("on an engine that has not what was prepared: %v", err)
	}
	f.set(func() { f.landmark = "then" })
	if err := create(); err == nil || errors.Is(err, sandbox.ErrUnavailable) { // nothing is asked for: no limit is positive
		t.Errorf("on an engine that tells its name: %v", err)
	}
	if id, err := l.Site(t.Context()); id != "ABCD@/data" || err != nil {
		t.Errorf("it is engine %q, %v", id, err)
	}
}

// TestAnEngineThatMakesNamesUp has none to tell, and is used without.
func TestAnEngineThatMakesNamesUp(t *testing.T) {
	f := &fakeEngine{id: func(asked int) string { return fmt.Sprint(asked) }, landmark: "then"}
	l := f.launch(t)
	if err := l.identity.Demand(t.Context()); err != nil || l.identity.Name() != "" {
		t.Errorf("it is %q, %v", l.identity.Name(), err)
	}
}

// TestAStrangerWithAHelpersName is not removed; what an earlier start of ours left is, by its id.
func TestAStrangerWithAHelpersName(t *testing.T) {
	f := &fakeEngine{id: func(int) string { return "ABCD" }}
	l := f.launch(t)
	ours := l.options.Installation
	for name, c := range map[string]struct {
		labels map[string]string
		gone   bool
	}{
		"somebody's":                   {map[string]string{}, false},
		"another installation's":       {map[string]string{names.LabelInstallation: "0000000011111111", names.LabelSandbox: names.RoleInit}, false},
		"a sandbox of ours":            {map[string]string{names.LabelInstallation: string(ours), names.LabelSandbox: "0123"}, false},
		"ours":                         {map[string]string{names.LabelInstallation: string(ours), names.LabelSandbox: names.RoleInit}, true},
		"not there, and so not in way": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f.set(func() { f.labels, f.changed = c.labels, nil })
			err := l.stock().RemoveHelper(t.Context(), names.RoleInit)
			if (err == nil) != (c.gone || c.labels == nil) {
				t.Errorf("it says %v", err)
			}
			f.set(func() {
				if (len(f.changed) > 0) != c.gone || c.gone && f.changed[0] != "DELETE abc" {
					t.Errorf("it was told to %v", f.changed)
				}
			})
		})
	}
	f.set(func() { f.labels, f.changed = map[string]string{}, nil })
	if err := l.sweep(t.Context()); err == nil || len(f.changed) > 0 {
		t.Errorf("the sweep of a start: %v, %v", err, f.changed)
	}
}
