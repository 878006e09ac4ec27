package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"torno/delegation"
	gatewaycontrol "torno/internal/gateway/control"
	"torno/internal/journal"
	"torno/test/house"
)

// story is how a point is reached and what must come of it. Each has its own house, whose watcher is told to die at the
// point; done looks at the end, when another watcher has taken over.
type story struct {
	// before brings the house to where the watcher that is to die is started. nil: nothing has to be.
	before func(*scene)
	// during makes the watcher come to the point.
	during func(*scene)
	// after happens while no watcher runs. nil: nothing.
	after func(*scene)
	// done says what must be true in the end.
	done func(*scene)
	// pass is how often the watcher comes by before it dies; 0 is as good as 1.
	pass int
	// model: the house has a model gateway, and a profile whose runs have a door.
	model bool
	// asks: the house has a profile whose agent asks for approval.
	asks bool
}

// scene is a story that is being told.
type scene struct {
	*house.House
	proxy *house.Proxy // before the engine; nil where there is none
	mend  func()       // mends the launcher or its engine
	ask   house.Ask
	kills int64

	dismissed bool // no watcher serves the outbox any more
}

// die waits until the watcher is dead.
func (s *scene) die() {
	s.Helper()
	s.Killed()
	s.kills++
}

// ledgerName is the file in its workspace to which each agent adds a line when it begins.
const ledgerName = "ledger"

const (
	hello = "echo began >>" + ledgerName + "; echo hello"
	// long prints, waits for a file and prints again.
	long = hello + "; while ! test -e go; do sleep 0.02; done; echo there"
)

func submit(task string) func(*scene) { return submitTo("", task) }

func submitTo(profile, task string) func(*scene) {
	return func(s *scene) { s.ask = s.Submit(house.Ask{ID: "s1", Task: task, Profile: profile}) }
}

// letOn lets the long task end.
func letOn(s *scene) { s.Touch("workspaces/s1/go") }

// says wants the run to have completed with the output.
func says(want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		resp := s.Response(s.ask)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if resp.StdoutTail != want || s.Read(s.ask.Answer) != want {
			s.Errorf("the tail is %q, the answer %q, want %q", resp.StdoutTail, s.Read(s.ask.Answer), want)
		}
	}
}

// ifLost is for a point that the watcher reaches beside the launch: on a busy machine it dies there between the note that the run is released and
// init's word. Then the run is lost, and lost says what must hold. Otherwise done does.
func ifLost(lost, done func(*scene)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if s.Response(s.ask).Reason == delegation.ReasonLost {
			lost(s)
			return
		}
		done(s)
	}
}

// told wants all of the run's output to be there, and its live output to be told whole.
func told(want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		says(want)(s)
		for n, e := range s.Told(s.ask) {
			if e.Type == delegation.EventGap || e.Seq != int64(n+1) {
				s.Errorf("event %d is %d, a %s", n+1, e.Seq, e.Type)
			}
		}
	}
}

// heldAndMadeAnew wants a run whose first sandbox was not released to have been done once, in the same attempt and in another
// sandbox. So many sandboxes were started by then.
func heldAndMadeAnew(starts int) func(*scene) {
	return func(s *scene) {
		s.Helper()
		says("hello\n")(s)
		s.attempted(1)
		s.began(1)
		s.started(starts)
	}
}

// lostWord wants a run to be lost of which the journal says that its agent may run, and whose agent never did.
func lostWord(s *scene) {
	s.Helper()
	ends(delegation.StatusError, delegation.ReasonLost)(s)
	s.attempted(1)
	s.began(0)
}

// neverHadItsWord is lostWord where nothing else makes sandboxes: one was started.
func neverHadItsWord(s *scene) {
	s.Helper()
	lostWord(s)
	s.started(1)
}

// listens is a program that Claude Code's adapter starts: it writes down what it is told, and ends its turn when it is told to end.
const listens = `printf '%s\n' '{"type":"system","subtype":"init"}'; echo began >>ledger; while read -r line; do printf '%s\n' "$line" >>heard
case "$line" in *the-end*) printf '%s\n' '{"type":"result","is_error":false,"result":"hello\n"}';; esac; done`

// speak asks for an agent and tells it two things.
func speak(s *scene) {
	s.Helper()
	s.ask = s.Submit(house.Ask{ID: "s1", Task: "listen", Profile: "listens"})
	for n, text := range []string{"a word", "the-end"} {
		in := delegation.Input{Version: 1, SubagentID: s.ask.ID, RequestID: s.ask.Request, N: n + 1, Kind: delegation.InputMessage, Text: text}
		data, err := in.Encode()
		s.Must(err)
		id, err := delegation.ParseSubagentID(s.ask.ID)
		s.Must(err)
		request, err := delegation.ParseRequestID(s.ask.Request)
		s.Must(err)
		name := delegation.InputName(id, request, n+1)
		s.Must(os.WriteFile(s.Path(name+".tmp"), data, 0o644))
		s.Must(os.Rename(s.Path(name+".tmp"), s.Path(name)))
	}
}

// heardOnce wants the agent to have been told each thing once, in order.
func heardOnce(s *scene) {
	s.Helper()
	resp := s.Response(s.ask)
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	heard := strings.Split(s.Read(filepath.Join(s.ask.Workspace, "heard")), "\n")
	if len(heard) != 4 || !strings.Contains(heard[0], "listen") || !strings.Contains(heard[1], "a word") || !strings.Contains(heard[2], "the-end") {
		s.Errorf("the agent was told %q", heard)
	}
	s.began(1)
}

// talked wants a run whose door has gone with its sandbox.
func talked(s *scene) {
	s.Helper()
	says("hello\n")(s)
	if model := s.Response(s.ask).Usage.Model; model == nil {
		s.Error("the response does not say what was spent on the model")
	}
	gateway := gatewaycontrol.Dial(filepath.Join(s.State, "gateway"))
	defer gateway.Close()
	s.Eventually("no door is left", func() bool {
		doors, err := gateway.Doors(s.Context())
		return err == nil && len(doors) == 0
	})
}

// remembers wants a session to be kept once: the agent goes on with its second turn.
func remembers(s *scene) {
	s.Helper()
	for turn := 1; turn <= 2; turn++ {
		resp := s.Response(s.ask)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if answer := s.Read(s.ask.Answer); answer != fmt.Sprintf("turn %d", turn) || resp.SessionID == "" || len(resp.Warnings) > 0 {
			s.Errorf("it answers %q, with the session %q, and is warned of %q", answer, resp.SessionID, resp.Warnings)
		}
		if turn == 1 {
			s.ask = s.Submit(house.Ask{ID: "s1", Request: "req on", Task: "think on", Profile: "minds", Session: resp.SessionID, Workspace: s.ask.Workspace})
		}
	}
	s.Eventually("nothing of a sandbox is left in the store", func() bool {
		left, err := os.ReadDir(filepath.Join(s.State, "sessions", "incoming"))
		return err == nil && len(left) == 0
	})
}

// ends wants a reason, and a status.
func ends(status delegation.Status, reason delegation.Reason) func(*scene) {
	return func(s *scene) { s.Helper(); s.Want(s.Response(s.ask), status, reason, -1) }
}

// unstoppable starts a run. The engine or the keeper does not end it at its deadline, and does not tell its end.
func unstoppable(s *scene) {
	s.Helper()
	s.ask = s.Submit(house.Ask{ID: "s1", Task: long, Timeout: 15}) // what is to be wrong is so before that
	s.Says(s.ask, "hello")
	if s.proxy != nil {
		release := s.proxy.Delay("POST containers/ID/wait")
		s.refuse("POST containers/ID/kill")
		refused := s.mend
		s.mend = func() { refused(); release() }
		return
	}
	id := s.Sandbox().ID
	s.Strike(id, house.Keeper, syscall.SIGSTOP)
	s.mend = func() { s.Strike(id, house.Keeper, syscall.SIGCONT) }
}

// unwatchable is a run that is cancelled while no watcher can follow it.
func unwatchable(s *scene) {
	s.Helper()
	submit(long)(s)
	s.Says(s.ask, "hello")
	defer s.Touch("cancel_s1")
	if s.proxy != nil {
		alive := s.proxy.Answer("POST containers/ID/kill", http.StatusInternalServerError) // the output would show its end
		s.refuse("POST containers/ID/wait")
		follows := s.mend
		s.mend = func() { alive(); follows() }
		return
	}
	id := s.Sandbox().ID
	record := filepath.Join(s.State, house.GVisor, "boxes", id, "box.json")
	text := s.Read(record)
	s.Must(os.WriteFile(record, []byte("{}"), 0o600))
	s.mend = func() { s.Must(os.WriteFile(record, []byte(text), 0o600)) }
	s.Strike(id, house.Keeper, syscall.SIGKILL)
}

// refuse has the engine fail a call, and cuts the calls that wait for the end of a container.
func (s *scene) refuse(call string) {
	s.mend = s.proxy.Answer(call, http.StatusInternalServerError)
	s.proxy.Cut("POST containers/ID/wait")
}

func mended(s *scene) { s.mend() }

// killedInTheMiddle leaves a long run behind whose watcher is dead.
func killedInTheMiddle(s *scene) { killedInTheMiddleOf("")(s) }

func killedInTheMiddleOf(profile string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		s.Start()
		submitTo(profile, long)(s)
		s.Says(s.ask, "hello")
		if err := s.Signal(syscall.SIGKILL); err == nil {
			s.Fatal("the watcher ended well when it was killed")
		}
		s.kills++
	}
}

// killedAt leaves a run behind whose watcher died at another point.
func killedAt(point, task string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		s.Env = []string{"TORNO_CRASH=" + point}
		s.Launch()
		submit(task)(s)
		s.die()
	}
}

// forgetSite makes the handle of the only run an earlier version's, which names no site.
func forgetSite(s *scene) {
	s.Helper()
	j, err := journal.Open(s.Context(), filepath.Join(s.State, "journal.db"))
	s.Must(err)
	defer func() { s.Must(j.Close()) }()
	runs, err := j.Unfinished(s.Context(), 0, 1)
	s.Must(err)
	if len(runs) != 1 || runs[0].Handle == nil || runs[0].Handle.Site == "" {
		s.Fatalf("the journal has %+v", runs)
	}
	runs[0].Handle.Site = ""
	s.Must(j.NoteSite(s.Context(), runs[0].Key, *runs[0].Handle))
}

// takeAway removes the request.
func takeAway(s *scene) { s.Must(os.Remove(s.Path("request_s1.json"))) }

// removeSandboxes removes what the installation has.
func removeSandboxes(s *scene) {
	for _, found := range s.Sandboxes() {
		s.RemoveSandbox(found)
	}
}

// writeAgain writes the same request once more, as another file.
func writeAgain(s *scene) {
	name := s.Path("request_s1.json")
	data, err := os.ReadFile(name)
	s.Must(err)
	s.Must(os.WriteFile(name+".tmp", data, 0o644))
	s.Must(os.Rename(name+".tmp", name))
}

// nonsense is a request that is refused, with ids.
func nonsense(s *scene) {
	s.ask = house.Ask{ID: "s1", Request: "req s1"}
	s.refusable("s1")
}

func (s *scene) refusable(id string) {
	s.Helper()
	data, err := json.Marshal(map[string]any{
		"version": 1, "subagent_id": id, "request_id": "req " + id, "task": "true", "yaml_config": map[string]any{},
		"answer_file": "/etc/answer", "workspace": "/etc", "timeout_seconds": 240,
	})
	s.Must(err)
	final := s.Path("request_" + id + ".json")
	s.Must(os.WriteFile(final+".tmp", data, 0o644))
	s.Must(os.Rename(final+".tmp", final))
}
