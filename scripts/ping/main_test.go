package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve answers on a unix socket and returns its DOCKER_HOST.
func serve(t *testing.T, status int, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/_ping" {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return "unix://" + path
}

func TestPing(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, c := range []struct {
		host, want string
	}{
		{serve(t, 200, "OK"), ""},
		{strings.Replace(other.URL, "http", "tcp", 1), "no Docker engine"},
		{serve(t, 500, "OK"), "no Docker engine"},
		{serve(t, 200, "hello"), "no Docker engine"},
		{"unix:///nowhere/d.sock", "no such file"},
		{"ssh://me@host", "neither"},
		{"", "neither"},
	} {
		err := run(context.Background(), []string{c.host})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("ping %s = %v, want %q", c.host, err, c.want)
		}
	}
}

func TestWaitUntilItAnswers(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("OK")) })
	late := filepath.Join(t.TempDir(), "late.sock")
	result := make(chan error, 1)
	go func() { result <- run(context.Background(), []string{"-wait", "20s", "unix://" + late}) }()
	listener, err := net.Listen("unix", late)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go http.Serve(listener, ok)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithTheProcess(t *testing.T) {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	args := []string{"-wait", "1h", "-while", strconv.Itoa(child.Process.Pid), "unix:///nowhere/d.sock"}
	go func() { result <- run(context.Background(), args) }()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err == nil || !strings.Contains(err.Error(), "is gone") { // dead, and not waited for yet
		t.Errorf("ping = %v", err)
	}
	child.Wait()
}

func TestWaitHasAnEnd(t *testing.T) {
	start := time.Now()
	if err := run(context.Background(), []string{"-wait", "50ms", "unix:///nowhere/d.sock"}); err == nil {
		t.Error("it answered")
	}
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("it gave up after %v", took)
	}
}
