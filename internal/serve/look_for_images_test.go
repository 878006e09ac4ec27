package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"torno/configs"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// stock is a launcher that has one image.
type stock struct {
	fake
	err error
}

func (s stock) HasImage(_ context.Context, ref string) (bool, error) { return ref == "here:1", s.err }

// TestAMissingImageIsSaidBeforeServing: once, and not where it will be fetched, or where there is none.
func TestAMissingImageIsSaidBeforeServing(t *testing.T) {
	for name, c := range map[string]struct {
		root sandbox.RootFS
		err  error
		want string
	}{
		"there":     {root: sandbox.RootFS{Image: "here:1"}},
		"missing":   {root: sandbox.RootFS{Image: "gone:1"}, want: `image=gone:1 next="docker pull gone:1, or pull: true in the profile (--pull with --dir)"`},
		"fetched":   {root: sandbox.RootFS{Image: "gone:1", Pull: true}},
		"a place":   {root: sandbox.RootFS{Image: "dir:/srv/root"}},
		"the host":  {root: sandbox.RootFS{Host: true}},
		"no answer": {root: sandbox.RootFS{Image: "gone:1"}, err: errors.New("boom"), want: "error=boom"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			p := compile.Profile{Name: "p", Sandbox: "docker", RootFS: c.root}
			h := &host{
				Options: Options{Log: slog.New(slog.NewTextHandler(&said, nil))}, launchers: map[string]launcher.Launcher{"docker": stock{err: c.err}},
				decided: configs.Config{Profiles: []compile.Profile{p, p}},
			}
			if err := h.lookForImages(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && said.Len() > 0 || strings.Count(said.String(), c.want) == 0 || c.err == nil && strings.Count(said.String(), "\n") > 1 {
				t.Errorf("it says %q", said.String())
			}
		})
	}
}
