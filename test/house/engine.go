package house

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Engine asks the Docker engine over its socket, without the product's client.
type Engine struct{ HTTP *http.Client }

// NeedEngine skips loudly where no engine answers, and fails in CI.
func NeedEngine(t testing.TB) Engine {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves the real engine out")
	}
	socket := "/var/run/docker.sock"
	if host, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		socket = host
	}
	e := engineAt(socket)
	response, err := e.HTTP.Get("http://engine/_ping")
	switch {
	case err == nil:
		response.Body.Close()
	case os.Getenv("CI") == "true":
		t.Fatal("no engine answers, and in CI nothing that matters is skipped:", err)
	default:
		t.Skip("NOT SHOWN HERE: no engine answers:", err)
	}
	return e
}

// engineAt is the engine behind a socket.
func engineAt(socket string) Engine {
	return Engine{&http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}}
}

// Get decodes an answer of the engine.
func (e Engine) Get(t testing.TB, path string, into any) {
	t.Helper()
	response, err := e.HTTP.Get("http://engine/v1.41" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Container is a line of the engine's list.
type Container struct {
	ID     string `json:"Id"`
	Names  []string
	State  string
	Labels map[string]string
}

// Containers are the containers of an installation; for "" all that carry any installation's label.
func (e Engine) Containers(t testing.TB, installation string) (found []Container) {
	t.Helper()
	label := "torno.installation"
	if installation != "" {
		label += "=" + installation
	}
	filters := fmt.Sprintf(`{"label":[%q]}`, label)
	e.Get(t, "/containers/json?all=1&filters="+url.QueryEscape(filters), &found)
	return found
}

// SandboxLabel is the label with the id of a container's sandbox.
const SandboxLabel = "torno.sandbox"

// Events reads the engine's own record of what happened to an installation's containers since a time, by the id of the sandbox.
func (e Engine) Events(t testing.TB, installation string, since, until int64) (actions map[string][]string) {
	t.Helper()
	filters := fmt.Sprintf(`{"type":["container"],"label":["torno.installation=%s"]}`, installation)
	response, err := e.HTTP.Get(fmt.Sprintf("http://engine/v1.41/events?since=%d&until=%d&filters=%s", since, until, url.QueryEscape(filters)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	actions = make(map[string][]string)
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var event struct {
			Action string
			Actor  struct{ Attributes map[string]string }
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		id := event.Actor.Attributes[SandboxLabel]
		actions[id] = append(actions[id], event.Action)
	}
	return actions
}
