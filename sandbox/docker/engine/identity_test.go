package engine

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	system "github.com/docker/docker/api/types/system"
)

// TestAnIDOfTheMomentIsNone: an engine that makes up an id for each answer, or has none, is not known by it.
func TestAnIDOfTheMomentIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		id   func(asked int) string
		want string
	}{
		"it lasts":      {func(int) string { return "ABCD" }, "ABCD@/data"},
		"it is new":     {func(asked int) string { return fmt.Sprint(asked) }, ""},
		"there is none": {func(int) string { return "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			e := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/info") {
					asked++
					fmt.Fprintf(w, `{"ID": %q, "DockerRootDir": "/data"}`, c.id(asked))
				}
			})
			identity := NewIdentity(e, slog.New(slog.DiscardHandler))
			first, err := e.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := identity.Learn(t.Context(), first); err != nil || identity.Name() != c.want {
				t.Errorf("the engine is %q, %v; want %q", identity.Name(), err, c.want)
			}
			if err := identity.Prove(t.Context()); err != nil || identity.Name() != c.want {
				t.Errorf("when it is asked again it is %q, %v", identity.Name(), err)
			}
		})
	}
}

// TestEnginesThatShareAKey: up to Docker 20.10 the id is the machine's.
func TestEnginesThatShareAKey(t *testing.T) {
	a, b := system.Info{ID: "ABCD", DockerRootDir: "/a"}, system.Info{ID: "ABCD", DockerRootDir: "/b"}
	if identityOf(a) == identityOf(b) {
		t.Error("two engines of one machine are one")
	}
}
