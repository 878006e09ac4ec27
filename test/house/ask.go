package house

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/wait"
)

// Ask is one request; zero fields get what the real client would write.
type Ask struct {
	ID, Request, Task, Workspace, Answer, Profile, Parent, Session string

	Timeout int
	Context []string
	Config  map[string]any // its yaml_config
	UID     int            // the owner of the workspace
	Made    bool           // its client made its workspace
	Age     time.Duration  // how long ago its file claims to be written; below 0 it lies ahead
	Renamed time.Time      // set by Submit
}

// Submit writes the request, and makes its workspace if it names none.
func (h *House) Submit(a Ask) Ask {
	h.Helper()
	if a.Request == "" {
		a.Request = "req " + a.ID
	}
	if a.Timeout == 0 {
		a.Timeout = int(2 * Patience / time.Second) // no run's time is over while its story waits
	}
	if a.Workspace == "" {
		a.Workspace = h.Mkdir(filepath.Join(h.Outbox, "workspaces", a.ID))
		owner := h.OwnerOf(a.UID)
		h.Must(os.Chown(a.Workspace, owner, owner))
	}
	if a.Answer == "" {
		a.Answer = filepath.Join(a.Workspace, "answer.txt")
	}
	body := map[string]any{
		"version": 1, "subagent_id": a.ID, "request_id": a.Request, "task": a.Task, "yaml_config": map[string]any{},
		"answer_file": a.Answer, "workspace": a.Workspace, "timeout_seconds": a.Timeout,
	}
	if a.Config != nil {
		body["yaml_config"] = a.Config
	}
	if a.Profile != "" {
		body["profile"] = a.Profile
	}
	if a.Parent != "" {
		body["parent_id"] = a.Parent
	}
	if a.Session != "" {
		body["session_id"] = a.Session
	}
	if a.Made {
		body["workspace_made"] = true
	}
	if a.Context != nil {
		body["context_paths"] = a.Context
	}
	data, err := json.Marshal(body)
	h.Must(err)
	a.Renamed = h.put("request_"+a.ID+".json", data, a.Age)
	return a
}

// Response waits for the answer.
func (h *House) Response(a Ask) (resp delegation.Response) {
	h.Helper()
	h.Eventually("there is a response to "+a.Request, func() bool {
		data, err := os.ReadFile(h.Path("response_" + a.ID + ".json"))
		if err != nil {
			return false
		}
		resp = delegation.Response{}
		h.Must(json.Unmarshal(data, &resp))
		return resp.RequestID == a.Request
	})
	return resp
}

// Run submits and waits.
func (h *House) Run(a Ask) delegation.Response {
	h.Helper()
	return h.Response(h.Submit(a))
}

// Says waits until the child of a request has printed a text.
func (h *House) Says(a Ask, text string) {
	h.Helper()
	var seen bytes.Buffer
	h.Eventually(a.Request+" says "+text, func() bool {
		ctx, cancel := context.WithTimeout(h.Context(), wait.Patient(Patience))
		defer cancel()
		seen.Reset()
		stop := errors.New("seen")
		err := h.Client.Output(ctx, "main/"+a.ID, true, func(o control.Output) error {
			seen.Write(o.Bytes)
			if strings.Contains(seen.String(), text) {
				return stop
			}
			return nil
		})
		return errors.Is(err, stop)
	})
}

// Want checks what a client acts on.
func (h *House) Want(resp delegation.Response, status delegation.Status, reason delegation.Reason, exit int) {
	h.Helper()
	if resp.Status != status || resp.Reason != reason || resp.ExitCode != exit {
		h.Errorf("%s: the response says %s, %s, %d (stdout %q, stderr %q); want %s, %s, %d",
			resp.RequestID, resp.Status, resp.Reason, resp.ExitCode, resp.StdoutTail, resp.StderrTail, status, reason, exit)
	}
}
