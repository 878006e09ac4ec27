package delegation

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

var instant = time.Date(2026, 11, 21, 2, 15, 11, 2913000, time.UTC)

func fullResponse() Response {
	return Response{
		Version: 1, SubagentID: "s1", RequestID: "r1", Status: StatusError, ExitCode: -1,
		StdoutTail: "a\tb\n", StderrTail: `Invalid request: profile "x" is not on offer`, CompletedAt: instant,
		Reason:  ReasonRefused,
		Error:   &Refusal{Code: CodeProfile, Field: "profile", Text: `Invalid request: profile "x" is not on offer`, Hint: "small, large"},
		Attempt: 2, StartedAt: instant.Add(-time.Second),
		Timings:  &Timings{Admit: 0.25, Queue: 1, Create: 2, Start: 3, Run: 4, Total: 10.25},
		Usage:    &Usage{PeakMemoryBytes: 1 << 40, CPUSeconds: 0.5, OutputBytes: 7},
		Warnings: []string{"timeout_seconds was cut to 60"}, Launcher: "docker", Profile: "small",
	}
}

func fullStatus() RunStatus {
	return RunStatus{
		Version: 1, SubagentID: "s1", RequestID: "r 1", State: StateRunning, Position: 3, Reason: ReasonDeadline, Attempt: 1,
		RunningSince: instant, Deadline: instant.Add(time.Minute), UpdatedAt: instant,
	}
}

func fullHeartbeat() Heartbeat {
	return Heartbeat{
		Version: 1, Protocol: 1, Watcher: "1.0", Outbox: "main", StartedAt: instant, BeatAt: instant, HeartbeatSeconds: 2, Stopping: true, Stopped: true,
		Features: []string{FeatureStatus, FeatureEvents, FeatureProfiles, FeatureContext},
		Limits:   WireLimits{RequestBytes: 1 << 20, Queue: 64, Running: 4, MaxTimeoutSeconds: 600},
		Profiles: []ProfileOffer{{Name: "small", Description: "a shell", Launcher: "docker"}}, Running: 1, Queued: 2,
		Notices: Notices{{Code: NoticeLauncher, Text: "the launcher does not answer", Since: instant}},
	}
}

func TestGoldenAnswers(t *testing.T) {
	response, status, heartbeat := fullResponse(), fullStatus(), fullHeartbeat()
	for name, encode := range map[string]func() ([]byte, error){
		"response": response.Encode, "status": status.Encode, "watcher": heartbeat.Encode,
	} {
		data, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/golden/"+name+".canonical", data)
	}
	if got, err := DecodeResponse(readTestdata(t, "testdata/golden/response.canonical")); err != nil || !reflect.DeepEqual(got, response) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeRunStatus(readTestdata(t, "testdata/golden/status.canonical")); err != nil || !reflect.DeepEqual(got, status) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeHeartbeat(readTestdata(t, "testdata/golden/watcher.canonical")); err != nil || !reflect.DeepEqual(got, heartbeat) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestMassGenResponse reads what MassGen's own watcher writes.
func TestMassGenResponse(t *testing.T) {
	got, err := DecodeResponse(readTestdata(t, "testdata/golden/massgen-response.json"))
	want := Response{
		Version: 1, SubagentID: "s1", RequestID: "9f2c4e1ab0d37755", Status: StatusCompleted, StdoutTail: "done …\n", CompletedAt: instant,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	data, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/golden/massgen-response.canonical", data)
}

// TestRefusalTravels shows that the sentence of a refusal reaches clients that know only version 1.
func TestRefusalTravels(t *testing.T) {
	r := Response{Version: 1, SubagentID: "s1", Status: StatusError, Error: &Refusal{Code: CodeQueueFull, Text: "the queue is full"}}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeResponse(data)
	if err != nil || got.StderrTail != "the queue is full" || got.Error.Error() != "the queue is full" {
		t.Errorf("%+v, %v", got, err)
	}
	if r.StderrTail != "" {
		t.Error("Encode changes what it encodes")
	}
}

// TestAnswerToNoID: the request request_.json has an answer too.
func TestAnswerToNoID(t *testing.T) {
	data, err := Response{Version: 1, SubagentID: "", RequestID: "\xff", Status: StatusError}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeResponse(data); err == nil || !strings.Contains(err.Error(), "subagent_id must not be empty") {
		t.Error(err)
	}
}

func TestHostileAnswers(t *testing.T) {
	response := func(data string) error { _, err := DecodeResponse([]byte(data)); return err }
	status := func(data string) error { _, err := DecodeRunStatus([]byte(data)); return err }
	heartbeat := func(data string) error { _, err := DecodeHeartbeat([]byte(data)); return err }
	const head = `{"version":1,"subagent_id":"s1","request_id":"r1",`
	for _, c := range []struct {
		decode     func(string) error
		data, says string
	}{
		{response, ``, "unexpected end of JSON input"},
		{response, `null`, "not a JSON object"},
		{response, `[]`, "not a JSON object"},
		{response, head + `"status":"completed","exit_code":0} {}`, "after top-level value"},
		{response, head + `"status":"completed","exit_code":0,"status":"error"}`, `"status" is given twice`},
		{response, head + `"Status":"completed","exit_code":0}`, "status is missing"},
		{response, head + `"status":null,"exit_code":0}`, "status is missing"},
		{response, head + `"status":"completed"}`, "exit_code is missing"},
		{response, head + `"status":"completed","exit_code":"0"}`, "exit_code: "},
		{response, head + `"status":"completed","exit_code":0.5}`, "exit_code: "},
		{response, head + `"status":"completed","exit_code":0,"stdout_tail":[]}`, "stdout_tail: "},
		{response, head + `"status":"completed","exit_code":0,"completed_at":"soon"}`, "completed_at: "},
		{response, head + `"status":"completed","exit_code":0,"reason":"\u001b[31m"}`, "reason "},
		{response, head + `"status":"error","exit_code":0,"error":{"code":"A B"}}`, "error.code "},
		{response, head + `"status":"error","exit_code":0,"error":{}}`, "error.code "},
		{response, head + `"status":"completed","exit_code":0,"stdout_tail":"` + "\xff" + `"}`, "not valid UTF-8"},
		{response, head + `"status":"completed","exit_code":0,"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "nested more than"},
		{
			response, head + `"status":"done","exit_code":0}`,
			"Invalid delegation status: 'done'. Must be one of: ['cancelled', 'completed', 'error', 'timeout']",
		},
		{response, strings.Replace(head, "1", "2", 1) + `"status":"completed","exit_code":0}`, "Unsupported delegation protocol version: 2 (expected 1)"},
		{status, head + `"state":"paused","updated_at":"2026-11-21T02:15:11Z"}`, `state "paused" is none`},
		{status, head + `"updated_at":"2026-11-21T02:15:11Z"}`, "state is missing"},
		{status, head + `"state":"ended"}`, "updated_at is missing"},
		{status, strings.Replace(head, "s1", "../s1", 1) + `"state":"ended","updated_at":"2026-11-21T02:15:11Z"}`, "subagent_id "},
		{status, strings.Replace(head, "1", "7", 1) + `"state":"ended","updated_at":"2026-11-21T02:15:11Z"}`, "version: 7"},
		{status, head + `"state":"ended","reason":"Went Away","updated_at":"2026-11-21T02:15:11Z"}`, "reason "},
		{heartbeat, `{"version":1,"protocol":1,"beat_at":"2026-11-21T02:15:11Z","heartbeat_seconds":0}`, "heartbeat_seconds must be"},
		{heartbeat, `{"version":1,"protocol":1,"beat_at":"2026-11-21T02:15:11Z","heartbeat_seconds":86401}`, "heartbeat_seconds must be"},
		{heartbeat, `{"version":1,"protocol":1,"heartbeat_seconds":2}`, "beat_at is missing"},
		{heartbeat, `{"version":3,"protocol":1,"beat_at":"2026-11-21T02:15:11Z","heartbeat_seconds":2}`, "version: 3"},
		{heartbeat, `{"version":1,"protocol":1,"beat_at":"2026-11-21T02:15:11Z","heartbeat_seconds":2,"profiles":[{"name":"-x"}]}`, "the name of a profile"},
	} {
		if err := c.decode(c.data); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s:\ngot %v, want %q", c.data, err, c.says)
		}
	}
}

func TestEncodeRefusesWrongAnswers(t *testing.T) {
	response, status, heartbeat := fullResponse(), fullStatus(), fullHeartbeat()
	response.Status, status.State, heartbeat.HeartbeatSeconds = "done", "", 0
	for name, encode := range map[string]func() ([]byte, error){
		"response": response.Encode, "status": status.Encode, "watcher": heartbeat.Encode,
	} {
		if data, err := encode(); err == nil {
			t.Errorf("%s: written as %s", name, data)
		}
	}
}

// TestTimes: what is written has microseconds and UTC, whatever the clock gave.
func TestTimes(t *testing.T) {
	status := fullStatus()
	status.UpdatedAt = time.Date(2026, 11, 21, 4, 15, 11, 123456789, time.FixedZone("", 7200))
	status.Deadline = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	data, err := status.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"updated_at": "2026-11-21T02:15:11.123456Z"`)) || bytes.Contains(data, []byte(`"deadline":`)) {
		t.Errorf("%s", data)
	}
}
