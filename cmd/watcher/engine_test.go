package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"torno/internal/journal"
	"torno/internal/serve"
	"torno/sandbox/docker"
	"torno/sandbox/local"
)

// TestEngineStories are those that need a real engine. Where none answers they are skipped, except where one is promised.
func TestEngineStories(t *testing.T) {
	host := needEngine(t)
	bin := buildInit(t)
	params := stories("testdata/engine")
	usual := params.Setup
	params.Setup = func(env *testscript.Env) error {
		if err := usual(env); err != nil {
			return err
		}
		env.Defer(func() { purgeAll(t, host, env.WorkDir) })
		env.Setenv("DOCKER_HOST", host)
		env.Setenv("PATH", bin+":"+env.Getenv("PATH"))
		return nil
	}
	params.Cmds["nothing-left"] = nothingLeft
	testscript.Run(t, params)
}

// purgeAll removes what the watchers of a story have left on the engine, also when the story failed.
func purgeAll(t *testing.T, host, dir string) {
	ctx := context.Background()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != serve.JournalName {
			return err
		}
		j, err := journal.OpenReadOnly(ctx, path)
		if err != nil {
			return err
		}
		options := docker.Options{Options: local.Options{Installation: local.Installation(j.Installation()), StateDir: filepath.Dir(path)}, Host: host}
		return errors.Join(j.Close(), docker.Purge(ctx, options))
	})
	if err != nil {
		t.Error("clean up after the story: ", err)
	}
}

func needEngine(t *testing.T) (host string) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves the real engine out")
	}
	host = "unix:///var/run/docker.sock"
	if given := os.Getenv("DOCKER_HOST"); given != "" {
		host = given
	}
	var version struct{ ApiVersion string }
	if err := get(host, "/version", &version); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no engine answers, and in CI nothing that matters is skipped: ", err)
		}
		t.Skip("NOT SHOWN HERE: no engine answers: ", err)
	}
	return host
}

// buildInit builds sandbox-init as it is shipped.
func buildInit(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "sandbox-init"), "torno/cmd/sandbox-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sandbox-init: %v\n%s", err, out)
	}
	return dir
}

// get asks an engine over its socket, without the product's client.
func get(host, path string, into any) error {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(host, "unix://"))
		},
	}}
	response, err := client.Get("http://engine" + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// nothingLeft demands that the engine, the mounts and the state have nothing of an installation: nothing-left STATE
func nothingLeft(ts *testscript.TestScript, _ bool, args []string) {
	state := ts.MkAbs(args[0])
	j, err := journal.OpenReadOnly(context.Background(), filepath.Join(state, "journal.db"))
	ts.Check(err)
	filter := url.QueryEscape(fmt.Sprintf(`{"label":["torno.installation=%s"]}`, j.Installation()))
	ts.Check(j.Close())
	var containers, images []any
	var volumes struct{ Volumes []any }
	for path, into := range map[string]any{
		"/containers/json?all=1&filters=": &containers, "/images/json?filters=": &images, "/volumes?filters=": &volumes,
	} {
		ts.Check(get(ts.Getenv("DOCKER_HOST"), path+filter, into))
	}
	if n := len(containers) + len(images) + len(volumes.Volumes); n > 0 {
		ts.Fatalf("%d things are left: %v %v %v", n, containers, images, volumes)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	ts.Check(err)
	if strings.Contains(string(mounts), ts.Getenv("WORK")) {
		ts.Fatalf("mounts are left:\n%s", mounts)
	}
	if left, _ := filepath.Glob(state + "/[^j]*"); len(left) > 0 {
		ts.Fatalf("files are left: %v", left)
	}
}
