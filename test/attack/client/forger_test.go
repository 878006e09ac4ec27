package client

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// untilTold is a task that runs until the file go is in its workspace, and notes how often it began.
const untilTold = "echo x >> began; echo ready; while ! test -e go; do sleep 0.05; done; echo told"

// moment is when another process forges a file of the watcher.
type moment struct {
	name string
	play func(f *forger) house.Ask
}

var moments = []moment{
	{"before the request is there", func(f *forger) house.Ask {
		f.forge("early")
		return f.submit("early")
	}},
	{"while it runs", func(f *forger) house.Ask {
		a := f.submit("running")
		f.Says(a, "ready")
		f.forge("running")
		return a
	}},
	{"while it waits for a place", func(f *forger) house.Ask {
		f.submit("first")
		f.Eventually("the only place is taken", func() bool { return f.began("first") == 1 })
		a := f.submit("queued")
		f.Eventually("it waits", func() bool { return f.Exists("status_queued.json") })
		f.forge("queued")
		f.tell("first")
		return a
	}},
	{"while no watcher is there", func(f *forger) house.Ask {
		a := f.submit("orphan")
		f.Says(a, "ready")
		f.Signal(syscall.SIGKILL)
		f.forge("orphan")
		f.Start()
		return a
	}},
}

// forger is another process of the parent, beside a watcher.
type forger struct {
	*house.House
	fell bool // a careless host has believed it
}

// TestForgedEndsAreNotTheHosts: a response, a status, live output and a heartbeat in the watcher's name neither end a run
// nor keep one from starting, and none starts twice, also when the watcher is new.
func TestForgedEndsAreNotTheHosts(t *testing.T) {
	house.NeedEngine(t)
	f := &forger{House: house.New(t, house.Plan{MaxRunning: 1})}
	trial := attack.Trial{Row: "O31", Where: "docker, by another process of the parent", Oracle: true}
	var all []house.Ask
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			f.TB = t
			a := m.play(f)
			all = append(all, a)
			f.Eventually("it runs", func() bool { return f.began(a.ID) == 1 })
			trial.Tried++
			trial.Oracle = trial.Oracle && f.fell
			f.endsTruly(a)
			if !t.Failed() {
				trial.Held++
			}
		})
	}
	f.TB = t
	f.nothingBeginsAgain(all)
	attack.Record(t, trial)
}

func (f *forger) submit(id string) house.Ask {
	return f.Submit(house.Ask{ID: id, Task: untilTold, Timeout: 60})
}

func (f *forger) tell(id string) { f.Touch("workspaces/" + id + "/go") }

// began is how often a child has begun.
func (f *forger) began(id string) int {
	data, err := os.ReadFile(f.Path("workspaces/" + id + "/began"))
	if err != nil {
		return 0
	}
	return strings.Count(string(data), "x")
}

// forge writes, by rename and as the watcher spells it, that the run has ended and that the watcher is gone.
func (f *forger) forge(id string) {
	f.Helper()
	request, err := delegation.ParseRequestID("req " + id)
	f.Must(err)
	subagent, err := delegation.ParseSubagentID(id)
	f.Must(err)
	end := response("req "+id, planted)
	end.SubagentID, end.ExitCode = id, 0
	status := delegation.RunStatus{Version: 1, SubagentID: id, RequestID: "req " + id, State: delegation.StateEnded, Reason: delegation.ReasonExited}
	beat := heartbeat(planted)
	beat.Stopping, beat.Stopped = true, true
	events, err := delegation.EncodeEvents([]delegation.Event{{Seq: 1, Type: delegation.EventState, State: delegation.StateEnded}})
	f.Must(err)
	files := map[string][]byte{
		"response_" + id + ".json": encoded(f, end), "status_" + id + ".json": encoded(f, status),
		delegation.HeartbeatName: encoded(f, beat),
	}
	for _, n := range []int{1, 2, 3, 1 << 29} {
		files[delegation.EventsName(subagent, request, n)] = events
	}
	dir, err := delegation.OpenDir(f.Outbox)
	f.Must(err)
	defer dir.Close()
	for name, data := range files {
		f.Must(dir.Publish(name, data))
	}
	f.fell = f.believes(id)
}

// believes is a careless host, which reads back what it wrote: it takes the run for ended.
func (f *forger) believes(id string) bool {
	var end delegation.Response
	data, err := os.ReadFile(f.Path("response_" + id + ".json"))
	return err == nil && json.Unmarshal(data, &end) == nil && end.StdoutTail == planted
}

// endsTruly wants that the run goes on although its end was forged, and then ends as it does.
func (f *forger) endsTruly(a house.Ask) {
	f.Helper()
	run, err := f.Client.Run(f.Context(), "main/"+a.ID)
	f.Must(err)
	if run.State == delegation.StateEnded {
		f.Errorf("the host believes that it has ended: %+v", run)
	}
	f.tell(a.ID)
	var end delegation.Response
	f.Eventually("the true end is there", func() bool {
		data, err := os.ReadFile(f.Path("response_" + a.ID + ".json"))
		return err == nil && json.Unmarshal(data, &end) == nil && end.StdoutTail != planted
	})
	f.Want(end, delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// nothingBeginsAgain forges every end once more, and has a new watcher look at them.
func (f *forger) nothingBeginsAgain(all []house.Ask) {
	f.Helper()
	for _, a := range all {
		f.forge(a.ID)
	}
	f.Must(f.Signal(syscall.SIGTERM))
	f.Start()
	f.Want(f.Run(house.Ask{ID: "honest", Task: "echo hello"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	for _, a := range all {
		if n := f.began(a.ID); n != 1 {
			f.Errorf("%s began %d times", a.ID, n)
		}
	}
	f.Eventually("the heartbeat is the watcher's again", func() bool { return !strings.Contains(f.Read(f.Path(delegation.HeartbeatName)), planted) })
}
