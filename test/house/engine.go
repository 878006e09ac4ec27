package house

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
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
	label := installationLabel
	if installation != "" {
		label += "=" + installation
	}
	filters := fmt.Sprintf(`{"label":[%q]}`, label)
	e.Get(t, "/containers/json?all=1&filters="+url.QueryEscape(filters), &found)
	return found
}

const (
	SandboxLabel      = "torno.sandbox" // the label with the id of a container's sandbox
	installationLabel = "torno.installation"
)

// A Start is the start of a container that carries a sandbox's label. No two are equal.
type Start struct {
	Container, Sandbox, Installation string
	At                               int64 // in nanoseconds
}

// Starts calls tell for each start after since (a Unix time) that the engine remembers; it remembers its last 256 events. With follow it
// goes on with each new start until the context ends.
func (e Engine) Starts(ctx context.Context, since int64, follow bool, tell func(Start)) error {
	query := url.Values{
		"since":   {strconv.FormatInt(since, 10)},
		"filters": {`{"type":["container"],"event":["start"],"label":["` + SandboxLabel + `"]}`},
	}
	if !follow {
		now := time.Now()
		query.Set("until", fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/v1.41/events?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := e.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Actor struct {
				ID         string
				Attributes map[string]string
			}
			TimeNano int64
		}
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		labels := event.Actor.Attributes
		tell(Start{event.Actor.ID, labels[SandboxLabel], labels[installationLabel], event.TimeNano})
	}
}
