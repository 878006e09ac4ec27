package house

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The rest of this file makes containers without Torno, for comparisons.

// ImageOf is the name of an image that an installation has imported.
func (e Engine) ImageOf(t testing.TB, installation string) string {
	t.Helper()
	var images []struct{ RepoTags []string }
	e.Get(t, "/images/json", &images)
	for _, image := range images {
		for _, tag := range image.RepoTags {
			if strings.Contains(tag, installation) {
				return tag
			}
		}
	}
	t.Fatal("the installation has imported no image")
	return ""
}

// Create makes a container from a body in the engine's own form, and returns its id.
func (e Engine) Create(name string, body []byte) (id string, err error) {
	data, err := e.send(http.MethodPost, "/containers/create?name="+name, body, http.StatusCreated)
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	err = json.Unmarshal(data, &made)
	return made.ID, err
}

// Finish starts a container, waits for its end and returns what it printed, in the engine's framing.
func (e Engine) Finish(t testing.TB, id string) string {
	t.Helper()
	if _, err := e.send(http.MethodPost, "/containers/"+id+"/start", nil, http.StatusNoContent); err != nil {
		return ""
	}
	if _, err := e.send(http.MethodPost, "/containers/"+id+"/wait", nil, http.StatusOK); err != nil {
		t.Fatal(err)
	}
	said, err := e.send(http.MethodGet, "/containers/"+id+"/logs?stdout=1&stderr=1", nil, http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// Post has the engine do what a path says.
func (e Engine) Post(t testing.TB, path, body string, want int) {
	t.Helper()
	if _, err := e.send(http.MethodPost, path, []byte(body), want); err != nil {
		t.Error(err)
	}
}

// Delete removes what is at a path.
func (e Engine) Delete(t testing.TB, path string) {
	t.Helper()
	want := http.StatusNoContent
	if strings.HasPrefix(path, "/images/") {
		want = http.StatusOK
	}
	if _, err := e.send(http.MethodDelete, path, nil, want); err != nil {
		t.Error(err)
	}
}

// Remove removes a container, whatever it does.
func (e Engine) Remove(t testing.TB, id string) {
	t.Helper()
	if _, err := e.send(http.MethodDelete, "/containers/"+id+"?force=1", nil, http.StatusNoContent); err != nil {
		t.Error(err)
	}
}

func (e Engine) send(method, path string, body []byte, want int) ([]byte, error) {
	request, err := http.NewRequest(method, "http://engine/v1.41"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(data))
	}
	return data, err
}
