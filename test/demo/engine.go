package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// engine is the Docker engine, asked over its socket without the product's own client: what that one cannot see must
// be seen here.
type engine struct {
	http    *http.Client
	address string
	version string
	private bool // no other program uses it, so everything new on it is ours
}

// host is the engine's address; none answers at that of no engine.
func (e *engine) host() string {
	if e == nil {
		return "unix:///nonexistent/docker.sock"
	}
	return e.address
}

// dialEngine finds the engine of DOCKER_HOST and asks for its version.
func dialEngine(ctx context.Context) (*engine, error) {
	e := &engine{address: os.Getenv("DOCKER_HOST"), private: os.Getenv("TORNO_ENGINE") == "private"}
	if e.address == "" {
		e.address = "unix:///var/run/docker.sock"
	}
	socket, ok := strings.CutPrefix(e.address, "unix://")
	if !ok {
		return nil, fmt.Errorf("DOCKER_HOST is %s; the demo needs an engine on this machine, unix:///path/of/its/socket", e.address)
	}
	e.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	var version struct{ Version string }
	if err := e.get(ctx, "/version", &version); err != nil {
		return nil, fmt.Errorf("no engine answers: %w", err)
	}
	e.version = version.Version
	return e, nil
}

// call makes one request and returns the body of a good answer.
func (e *engine) call(ctx context.Context, method, path, kind string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://engine/v1.41"+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	response, err := e.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	bad := &failure{status: response.StatusCode}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(bad); err != nil {
		bad.Message = response.Status
	}
	return nil, fmt.Errorf("%s %s: %w", method, path, bad)
}

func (e *engine) get(ctx context.Context, path string, into any) error {
	body, err := e.call(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return json.NewDecoder(body).Decode(into)
}

// do is a call whose answer is of no interest.
func (e *engine) do(ctx context.Context, method, path string) error {
	body, err := e.call(ctx, method, path, "", nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// remove is fine with what is not there.
func (e *engine) remove(ctx context.Context, path string) error {
	err := e.do(ctx, http.MethodDelete, path)
	if f, ok := errors.AsType[*failure](err); ok && f.status == http.StatusNotFound {
		return nil
	}
	return err
}

// failure is an answer of the engine that is not a good one.
type failure struct {
	status  int
	Message string
}

func (f *failure) Error() string { return "the engine says: " + f.Message }

// importImage makes an image out of a tar file.
func (e *engine) importImage(ctx context.Context, repo, tag string, tar io.Reader) error {
	query := url.Values{"fromSrc": {"-"}, "repo": {repo}, "tag": {tag}}
	body, err := e.call(ctx, http.MethodPost, "/images/create?"+query.Encode(), "application/x-tar", tar)
	if err != nil {
		return err
	}
	defer body.Close()
	return progress(body)
}

// progress reads what an engine tells of a longer work, to its end. A failure of the work is told there, too.
func progress(body io.Reader) error {
	for steps := json.NewDecoder(body); ; {
		var step struct{ Error string }
		if err := steps.Decode(&step); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if step.Error != "" {
			return errors.New(step.Error)
		}
	}
}

// create makes a container and returns its id.
func (e *engine) create(ctx context.Context, name string, config any) (string, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	path := "/containers/create?name=" + url.QueryEscape(name)
	body, err := e.call(ctx, http.MethodPost, path, "application/json", bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	defer body.Close()
	var made struct {
		ID string `json:"Id"`
	}
	return made.ID, json.NewDecoder(body).Decode(&made)
}

// follow copies what a container prints until it ends.
func (e *engine) follow(ctx context.Context, id string, stdout, stderr io.Writer) error {
	body, err := e.call(ctx, http.MethodGet, "/containers/"+id+"/logs?follow=1&stdout=1&stderr=1", "", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return demultiplex(body, stdout, stderr)
}

// demultiplex takes the engine's framing apart: a byte for the stream, three of nothing, four for the length.
func demultiplex(from io.Reader, stdout, stderr io.Writer) error {
	for {
		var head [8]byte
		if _, err := io.ReadFull(from, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		size := int64(head[4])<<24 | int64(head[5])<<16 | int64(head[6])<<8 | int64(head[7])
		to := stdout
		if head[0] == 2 {
			to = stderr
		}
		if _, err := io.CopyN(to, from, size); err != nil {
			return err
		}
	}
}

// exitCode waits for a container.
func (e *engine) exitCode(ctx context.Context, id string) (int, error) {
	body, err := e.call(ctx, http.MethodPost, "/containers/"+id+"/wait", "", nil)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	var end struct{ StatusCode int }
	return end.StatusCode, json.NewDecoder(body).Decode(&end)
}

// containersMade are the ids of all containers that were ever made with a label, also those that are gone.
func (e *engine) containersMade(ctx context.Context, label string, since, until int64) ([]string, error) {
	filters := fmt.Sprintf(`{"type":["container"],"event":["create"],"label":[%q]}`, label)
	path := fmt.Sprintf("/events?since=%d&until=%d&filters=%s", since, until, url.QueryEscape(filters))
	body, err := e.call(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var ids []string
	for events := json.NewDecoder(body); ; {
		var event struct{ Actor struct{ ID string } }
		if err := events.Decode(&event); errors.Is(err, io.EOF) {
			return ids, nil
		} else if err != nil {
			return ids, err
		}
		ids = append(ids, event.Actor.ID)
	}
}
