package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"torno/delegation"
	"torno/test/wait"
)

// hostMain is a watcher by hand, for stories:
//
//	host beat [stopping | stopped | old | sessions | TEXT]     say that the outbox is served, with a notice
//	host serve                                      say so again and again, until it is killed
//	host await NAME                                 wait for a file of the outbox
//	host hears FILE TEXT                            wait for a text in a file
//	host queued ID N | host running ID              say where the run stands
//	host output ID stdout|stderr TEXT               publish live output, the first time as segment 1
//	host end ID STATUS REASON EXIT [ANSWER] [TAIL] [SESSION]  answer the run
//	host refuse ID CODE FIELD TEXT HINT             turn it down
func hostMain() {
	if err := hostDo(os.Getenv("TORNO_OUTBOX"), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

// hostDir is the outbox as the host holds it.
type hostDir struct{ *delegation.Dir }

func hostDo(outbox, verb string, args []string) error {
	if err := os.MkdirAll(outbox, 0o755); err != nil {
		return err
	}
	dir, err := delegation.OpenDir(outbox)
	if err != nil {
		return err
	}
	defer dir.Close()
	h := hostDir{dir}
	switch verb {
	case "beat":
		return h.beat(args)
	case "serve":
		return h.serve()
	case "await":
		return h.await(args[0])
	case "hears":
		return hears(args[0], args[1])
	}
	request, err := h.request(args[0])
	if err != nil {
		return err
	}
	switch verb {
	case "queued":
		position, err := strconv.Atoi(args[1])
		return errors.Join(err, h.status(request, delegation.RunStatus{State: delegation.StateQueued, Position: position}))
	case "running":
		return h.status(request, delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now()})
	case "child":
		return h.status(request, delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now(), ParentID: args[1], Depth: 2})
	case "asks":
		number, err := strconv.Atoi(args[1])
		asked := delegation.PendingApproval{
			Approval: number, Digest: args[2] + strings.Repeat(args[1], 64-len(args[2])), Tool: "Bash", Arguments: args[3],
			AskedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour), DecidedBy: []string{"parent"},
		}
		return errors.Join(err, h.status(request, delegation.RunStatus{State: delegation.StateWaiting, Approvals: []delegation.PendingApproval{asked}}))
	case "output":
		return h.output(request, delegation.EventType(args[1]), args[2])
	case "end":
		return h.end(request, args[1:])
	case "refuse":
		return h.respond(request, delegation.Response{
			Status: delegation.StatusError, Reason: delegation.ReasonRefused, ExitCode: -1, StderrTail: args[3],
			Error: &delegation.Refusal{Code: delegation.Code(args[1]), Field: args[2], Hint: args[4]},
		})
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func (h hostDir) beat(args []string) error {
	beat := delegation.Heartbeat{
		Version: 1, Protocol: 1, Watcher: "test", BeatAt: time.Now(), HeartbeatSeconds: 600,
		Limits:   delegation.WireLimits{RequestBytes: 4096, Running: 4, Queue: 9, MaxTimeoutSeconds: 3600},
		Profiles: []delegation.ProfileOffer{{Name: "shell"}, {Name: "coder", TimeoutSeconds: 900, MaxTimeoutSeconds: 5400, Agent: "claude", Model: "opus", Launcher: "docker", Description: "it\nthinks"}},
		Outbox:   "main", Workspaces: []string{"workspaces", "/src"}, Context: []string{"/doc"}, Running: 2,
	}
	switch text := strings.Join(args, " "); text {
	case "":
	case "sessions":
		beat.Features = []string{delegation.FeatureSessions}
	case "stopping":
		beat.Stopping = true
	case "stopped":
		beat.Stopping, beat.Stopped = true, true
	case "old":
		beat.BeatAt, beat.HeartbeatSeconds = beat.BeatAt.Add(-24*time.Hour), 1
	case "serving":
		beat.HeartbeatSeconds = 3 // it beats more often: three beats that are late on a busy machine are not missed
	default:
		beat.Notices = delegation.Notices{{Code: delegation.NoticeLauncher, Text: unescape(text)}}
	}
	data, err := beat.Encode()
	return errors.Join(err, h.Publish(delegation.HeartbeatName, data))
}

// serve beats every second.
func (h hostDir) serve() error {
	for tick := time.NewTicker(time.Second); ; <-tick.C {
		if err := h.beat([]string{"serving"}); err != nil {
			return err
		}
	}
}

// hears polls, as await does.
func hears(file, text string) error {
	for deadline := time.Now().Add(wait.Patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), text) {
			return nil
		}
	}
	return fmt.Errorf("%q did not come into %s", text, file)
}

// await polls, since it stands for another process; the deadline is for a broken client.
func (h hostDir) await(name string) error {
	for deadline := time.Now().Add(wait.Patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if _, err := h.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%s did not come", name)
}

func (h hostDir) request(id string) (delegation.Request, error) {
	if err := h.await("request_" + id + ".json"); err != nil {
		return delegation.Request{}, err
	}
	data, _, err := h.Read("request_"+id+".json", 1<<20)
	if err != nil {
		return delegation.Request{}, err
	}
	return delegation.DecodeRequest(data)
}

func (h hostDir) status(r delegation.Request, s delegation.RunStatus) error {
	s.Version, s.SubagentID, s.RequestID, s.UpdatedAt = 1, r.SubagentID.String(), r.RequestID.String(), time.Now()
	data, err := s.Encode()
	return errors.Join(err, h.Publish(delegation.StatusName(r.SubagentID), data))
}

// output appends one event in a segment of its own.
func (h hostDir) output(r delegation.Request, kind delegation.EventType, text string) error {
	seq := 1
	for ; ; seq++ {
		if _, err := h.Stat(delegation.EventsName(r.SubagentID, r.RequestID, seq)); err != nil {
			break
		}
	}
	event := delegation.Event{Seq: int64(seq), Time: time.Now(), Type: kind, Text: unescape(text)}
	if kind == delegation.EventToolCall {
		event.Text, event.Tool = "", &delegation.Tool{Name: "Bash", Input: []byte(fmt.Sprintf(`{"command":%q}`, text))}
	}
	data, err := delegation.EncodeEvents([]delegation.Event{event})
	return errors.Join(err, h.Publish(delegation.EventsName(r.SubagentID, r.RequestID, seq), data))
}

func (h hostDir) end(r delegation.Request, args []string) error {
	exit, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if len(args) > 3 && args[3] != "" {
		answer := h.answer(r)
		if err := os.MkdirAll(filepath.Dir(answer), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(answer, []byte(unescape(args[3])), 0o644); err != nil {
			return err
		}
	}
	response := delegation.Response{
		Status: delegation.Status(args[0]), Reason: delegation.Reason(args[1]), ExitCode: exit, StartedAt: time.Now(),
	}
	if len(args) > 4 {
		response.StderrTail = unescape(args[4])
	}
	if len(args) > 5 {
		response.SessionID, response.Profile = args[5], r.Profile.String()
	}
	return h.respond(r, response)
}

// answer is where the answer of a request goes. What is relative is so to the workspace, and that to the outbox.
func (h hostDir) answer(r delegation.Request) string {
	if filepath.IsAbs(r.AnswerFile) {
		return r.AnswerFile
	}
	if filepath.IsAbs(r.Workspace) {
		return filepath.Join(r.Workspace, r.AnswerFile)
	}
	return filepath.Join(h.Path(), r.Workspace, r.AnswerFile)
}

func (h hostDir) respond(r delegation.Request, response delegation.Response) error {
	response.Version, response.SubagentID, response.RequestID = 1, r.SubagentID.String(), r.RequestID.String()
	response.CompletedAt = time.Now()
	data, err := response.Encode()
	return errors.Join(err, h.Publish(delegation.ResponseName(r.SubagentID), data))
}

// unescape lets a story write control characters as Go does.
func unescape(text string) string {
	if plain, err := strconv.Unquote(`"` + text + `"`); err == nil {
		return plain
	}
	return text
}
