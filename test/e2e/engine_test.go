package e2e

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

// engine asks the Docker engine over its socket, without the product's client.
type engine struct{ http *http.Client }

// needEngine skips loudly where no engine answers, and fails in CI.
func needEngine(t testing.TB) engine {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves the real engine out")
	}
	socket := "/var/run/docker.sock"
	if host, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		socket = host
	}
	e := engine{&http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}}
	response, err := e.http.Get("http://engine/_ping")
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

// get decodes an answer of the engine.
func (e engine) get(t testing.TB, path string, into any) {
	t.Helper()
	response, err := e.http.Get("http://engine/v1.41" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// container is one line of the engine's list.
type container struct {
	ID     string `json:"Id"`
	Names  []string
	State  string
	Labels map[string]string
}

// containers are those of an installation, or all that carry any installation's label for "".
func (e engine) containers(t testing.TB, installation string) (found []container) {
	t.Helper()
	label := "torno.installation"
	if installation != "" {
		label += "=" + installation
	}
	filters := fmt.Sprintf(`{"label":[%q]}`, label)
	e.get(t, "/containers/json?all=1&filters="+url.QueryEscape(filters), &found)
	return found
}

// events reads the engine's own record of what happened to an installation's containers since a time.
func (e engine) events(t testing.TB, installation string, since, until int64) (actions map[string][]string) {
	t.Helper()
	filters := fmt.Sprintf(`{"type":["container"],"label":["torno.installation=%s"]}`, installation)
	response, err := e.http.Get(fmt.Sprintf("http://engine/v1.41/events?since=%d&until=%d&filters=%s", since, until, url.QueryEscape(filters)))
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
		run := event.Actor.Attributes["torno.run"]
		actions[run] = append(actions[run], event.Action)
	}
	return actions
}
