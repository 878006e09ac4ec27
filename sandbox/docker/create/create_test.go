package create

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

	"github.com/containerd/errdefs"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// TestWhatIsMissingMayBeOnTheOtherEngine: a container cannot be made for want of an image, because another engine answers. That is no
// failure of the launch.
func TestWhatIsMissingMayBeOnTheOtherEngine(t *testing.T) {
	name := "ABCD"
	var mu sync.Mutex
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Api-Version", engine.MinAPI)
		if strings.HasSuffix(r.URL.Path, "/containers/create") {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message": "no such image"}`)
			return
		}
		fmt.Fprintf(w, `{"ID": %q, "DockerRootDir": "/data"}`, name)
	})}
	go server.Serve(listener)
	defer server.Close()
	e, err := engine.Connect(t.Context(), "unix://"+socket, func(string, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	identity := engine.NewIdentity(e, slog.New(slog.DiscardHandler))
	if err := identity.TakeAny(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := &making{
		Ground: &Ground{Engine: e, Identity: identity, Names: names.Naming{Installation: "0123456789abcdef"}, Images: image.NewImages(image.Stock{Engine: e})},
		Making: local.Making{Order: local.Order{ID: sandbox.NewSandboxID()}},
	}
	if _, err := m.createContainer(t.Context()); !errors.Is(err, errdefs.ErrNotFound) || errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("on its own engine: %v", err)
	}
	mu.Lock()
	name = "EFGH"
	mu.Unlock()
	if _, err := m.createContainer(t.Context()); !errors.Is(err, sandbox.ErrOtherSite) {
		t.Errorf("on another engine: %v", err)
	}
	other := errors.New("something else")
	if err := m.whyGone(t.Context(), other); !errors.Is(err, other) {
		t.Errorf("another failure: %v", err)
	}
}
