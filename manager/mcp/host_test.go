package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// stage is an outbox whose watcher is played by hand.
type stage struct {
	testing.TB
	dir    *delegation.Dir
	path   string
	origin string // a directory of the parent's
	env    map[string]string
	coming coming
}

func newStage(t testing.TB) *stage {
	t.Helper()
	base := t.TempDir()
	s := &stage{
		TB: t, path: filepath.Join(base, "outbox"), origin: filepath.Join(base, "src"),
		env: map[string]string{"XDG_STATE_HOME": filepath.Join(base, "state")},
	}
	for _, dir := range []string{s.path, s.origin} {
		s.check(os.Mkdir(dir, 0o755))
	}
	dir, err := delegation.OpenDir(s.path)
	s.check(err)
	t.Cleanup(func() { dir.Close() })
	s.dir = dir
	return s
}

func (s *stage) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// beat says that the outbox is served.
func (s *stage) beat(change func(*delegation.Heartbeat)) {
	s.Helper()
	beat := delegation.Heartbeat{
		Version: 1, Protocol: 1, Watcher: "v0.test", BeatAt: time.Now(), HeartbeatSeconds: 300, Features: []string{delegation.FeatureCancel},
		Limits:   delegation.WireLimits{RequestBytes: 1 << 20, Running: 4, Queue: 9, MaxTimeoutSeconds: 3600},
		Profiles: []delegation.ProfileOffer{{Name: "shell"}, {Name: "coder", Agent: "claude", Model: "opus", Description: "it thinks"}},
		Outbox:   "main", Workspaces: []string{"workspaces"}, Context: []string{"/doc"},
	}
	if change != nil {
		change(&beat)
	}
	data, err := beat.Encode()
	s.check(err)
	s.check(s.dir.Publish(delegation.HeartbeatName, data))
}

func (s *stage) request(id string) delegation.Request {
	s.Helper()
	data, _, err := s.dir.Read("request_"+id+".json", 1<<20)
	s.check(err)
	request, err := delegation.DecodeRequest(data)
	s.check(err)
	return request
}

func (s *stage) status(id string, status delegation.RunStatus) {
	s.Helper()
	r := s.request(id)
	status.Version, status.SubagentID, status.RequestID, status.UpdatedAt = 1, id, r.RequestID.String(), time.Now()
	data, err := status.Encode()
	s.check(err)
	s.check(s.dir.Publish(delegation.StatusName(r.SubagentID), data))
}

// event publishes one event in a segment of its own.
func (s *stage) event(id string, e delegation.Event) {
	s.Helper()
	r := s.request(id)
	seq := 1
	for ; ; seq++ {
		if _, err := s.dir.Stat(delegation.EventsName(r.SubagentID, r.RequestID, seq)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	e.Seq, e.Time = int64(seq), time.Now()
	data, err := delegation.EncodeEvents([]delegation.Event{e})
	s.check(err)
	s.check(s.dir.Publish(delegation.EventsName(r.SubagentID, r.RequestID, seq), data))
}

// hears says of the next input of a run that the agent has it, or that it was refused, once it is there.
func (s *stage) hears(id string, refused delegation.RefusedInput) {
	s.Helper()
	r := s.request(id)
	n := 1
	missing := func() bool {
		_, err := s.dir.Stat(delegation.InputName(r.SubagentID, r.RequestID, n))
		return err != nil
	}
	for !missing() {
		n++
	}
	s.when(func() bool { return !missing() }, func() {
		in := delegation.InputStatus{Acknowledged: n}
		if refused.Code != "" {
			refused.N = n
			in.Refused = append(in.Refused, refused)
		}
		s.status(id, delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now(), Input: &in})
	})
}

// when does something once a condition holds, unless the test ends before.
func (s *stage) when(holds func() bool, do func()) {
	done := make(chan struct{})
	s.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !holds() {
			select {
			case <-tick.C:
			case <-s.Context().Done():
				return
			}
		}
		do()
	}()
}

// reads says of the next two inputs of a run that the agent has them, once they are there.
func (s *stage) reads(id string) {
	s.Helper()
	r := s.request(id)
	n := 1
	there := func() bool {
		_, err := s.dir.Stat(delegation.InputName(r.SubagentID, r.RequestID, n))
		return err == nil
	}
	for there() {
		n++
	}
	last := n + 1
	done := make(chan struct{})
	s.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n <= last {
			if there() {
				s.status(id, delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now(), Input: &delegation.InputStatus{Acknowledged: n}})
				n++
			}
			select {
			case <-tick.C:
			case <-s.Context().Done():
				return
			}
		}
	}()
}

// cancels ends a run once its parent asks for that.
func (s *stage) cancels(id string) {
	s.Helper()
	r := s.request(id)
	asked := func() bool {
		_, err := s.dir.Stat(delegation.CancelRequestName(r.SubagentID, r.RequestID))
		return err == nil
	}
	s.when(asked, func() {
		s.end(id, delegation.Response{Status: delegation.StatusCancelled, Reason: delegation.ReasonCancelled, ExitCode: 130}, "")
	})
}

// sent is what an input says that decides a question.
func (s *stage) sent(idAndNumber string) string {
	s.Helper()
	id, number, _ := strings.Cut(idAndNumber, " ")
	n, err := strconv.Atoi(number)
	s.check(err)
	r := s.request(id)
	data, _, err := s.dir.Read(delegation.InputName(r.SubagentID, r.RequestID, n), 1<<20)
	s.check(err)
	in, err := delegation.DecodeInput(data, r.SubagentID, r.RequestID, n)
	s.check(err)
	return strings.Join(strings.Fields(fmt.Sprintf("  %s %d %s %q", in.Kind, in.Approval, in.Decision, in.Text)), " ") + "\n"
}

// asks has a run's agent ask its first question, unless q has another number.
func (s *stage) asks(id string, q delegation.PendingApproval) {
	s.Helper()
	q.Approval, q.Digest, q.AskedAt, q.ExpiresAt = max(1, q.Approval), strings.Repeat("ab", 32), time.Now(), time.Now()
	s.status(id, delegation.RunStatus{State: delegation.StateWaiting, RunningSince: time.Now(), Approvals: []delegation.PendingApproval{q}})
}

// asked is what a request has in it that a continue sets.
func (s *stage) asked(id string) string {
	s.Helper()
	r := s.request(id)
	return fmt.Sprintf("  session %s, profile %s, workspace %s, task %q\n", r.SessionID, r.Profile, r.Workspace, r.Task)
}

// config is the run configuration and the context of a request.
func (s *stage) config(id string) string {
	s.Helper()
	r := s.request(id)
	text, err := json.Marshal(r.YAMLConfig)
	s.check(err)
	return fmt.Sprintf("  context %q, answer %s\n  %s\n", r.ContextPaths, r.AnswerFile, text)
}

// write puts a file into a child's workspace.
func (s *stage) write(id, name, text string) {
	s.Helper()
	path := s.request(id).Workspace
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.path, path)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(path, name)
	}
	path = name
	s.check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.check(os.WriteFile(path, []byte(text), 0o644))
}

// end answers a run. An answer is written first, where there is one.
func (s *stage) end(id string, response delegation.Response, answer string) {
	s.Helper()
	r := s.request(id)
	if answer != "" {
		s.write(id, r.AnswerFile, answer)
		response.StdoutTail = string(delegation.Tail([]byte(answer)))
	}
	response.Version, response.SubagentID, response.RequestID = 1, id, r.RequestID.String()
	response.CompletedAt = time.Now()
	if response.Reason != delegation.ReasonRefused {
		response.StartedAt = time.Now()
	}
	data, err := response.Encode()
	s.check(err)
	s.check(s.dir.Publish(delegation.ResponseName(r.SubagentID), data))
}

// do is one line of a transcript: a verb of the host's.
func (s *stage) do(verb string, args []string) {
	s.Helper()
	arg := func(i int) string {
		if i < len(args) {
			text, err := strconv.Unquote(`"` + args[i] + `"`)
			s.check(err)
			return text
		}
		return ""
	}
	switch verb {
	case "beat":
		s.beat(func(b *delegation.Heartbeat) {
			b.Stopped = arg(0) == "stopped"
			if arg(0) == "offers" {
				b.Features = append(b.Features, args[1:]...)
			}
			switch arg(0) {
			case "roots": // the parent's directory is one for workspaces and for context
				b.Workspaces, b.Context = append(b.Workspaces, s.origin), append(b.Context, s.origin)
			case "shell": // and no agent
				b.Profiles = b.Profiles[:1]
			case "any": // an agent whose model a request chooses
				b.Profiles = []delegation.ProfileOffer{{Name: "any", Agent: "claude"}}
				b.Features = append(b.Features, delegation.FeatureSettings)
			case "codex":
				b.Profiles = []delegation.ProfileOffer{{Name: "codex", Agent: "codex"}}
			case "team": // an agent that has its models from elsewhere
				b.Profiles = []delegation.ProfileOffer{{Name: "team", Agent: "massgen"}}
			case "asking": // agents that ask, with everything that a watcher may offer
				b.Profiles = append(b.Profiles, delegation.ProfileOffer{Name: "careful", Agent: "claude", Approvals: true}, delegation.ProfileOffer{Name: "team", Agent: "massgen"})
				b.Features = append(b.Features, delegation.FeatureInput, delegation.FeatureApprovals, delegation.FeatureSessions)
			}
			if arg(0) == "old" {
				b.BeatAt, b.HeartbeatSeconds = time.Now().Add(-time.Hour), 1
			}
		})
	case "hears": // ID, and where the host turns it down, CODE TEXT HINT: what is sent next
		s.hears(arg(0), delegation.RefusedInput{Code: delegation.Code(arg(1)), Text: arg(2), Hint: arg(3)})
	case "asks": // ID TOOL ARGUMENTS [DECIDED-BY [NUMBER]]
		q := delegation.PendingApproval{Tool: arg(1), Arguments: arg(2)}
		if arg(3) != "" {
			q.DecidedBy = []string{arg(3)}
		}
		if arg(4) != "" {
			n, err := strconv.Atoi(arg(4))
			s.check(err)
			q.Approval = n
		}
		s.asks(arg(0), q)
	case "queued":
		position, err := strconv.Atoi(arg(1))
		s.check(err)
		s.status(arg(0), delegation.RunStatus{State: delegation.StateQueued, Position: position})
	case "running":
		s.status(arg(0), delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now().Add(-time.Second)}) // the times of files are coarse
	case "prints":
		s.event(arg(0), delegation.Event{Type: delegation.EventStdout, Text: arg(1)})
	case "calls":
		s.event(arg(0), delegation.Event{Type: delegation.EventToolCall, Tool: &delegation.Tool{Name: arg(1), Input: []byte(`{"command":"ls"}`)}})
	case "reads": // ID: the agent has the next two inputs
		s.reads(arg(0))
	case "cancels": // ID: it ends when it is asked to
		s.cancels(arg(0))
	case "once": // END ID …: the same, once the child is asked for
		verb, rest := arg(0), args[1:]
		id := arg(1)
		asked := func() bool {
			_, err := s.dir.Stat("request_" + id + ".json")
			return err == nil
		}
		s.when(asked, func() { s.do(verb, rest) })
	case "cuts": // ID EXIT [ANSWER]: its time is up
		exit, err := strconv.Atoi(arg(1))
		s.check(err)
		s.end(arg(0), delegation.Response{Status: delegation.StatusTimeout, Reason: delegation.ReasonDeadline, ExitCode: exit}, arg(2))
	case "writes":
		s.write(arg(0), arg(1), arg(2))
	case "ends": // ID STATUS REASON EXIT [ANSWER] [STDERR]
		exit, err := strconv.Atoi(arg(3))
		s.check(err)
		s.end(arg(0), delegation.Response{Status: delegation.Status(arg(1)), Reason: delegation.Reason(arg(2)), ExitCode: exit, StderrTail: arg(5)}, arg(4))
	case "keeps": // ID SESSION PROFILE ANSWER
		s.end(arg(0), delegation.Response{
			Status: delegation.StatusCompleted, Reason: delegation.ReasonExited, SessionID: arg(1), Profile: arg(2),
		}, arg(3))
	case "spent": // ID INPUT OUTPUT MONEY
		in, err := strconv.ParseInt(arg(1), 10, 64)
		s.check(err)
		out, err := strconv.ParseInt(arg(2), 10, 64)
		s.check(err)
		s.end(arg(0), delegation.Response{
			Status: delegation.StatusCompleted, Reason: delegation.ReasonExited,
			Usage: &delegation.Usage{Model: &delegation.ModelUsage{Requests: 1, InputTokens: in, OutputTokens: out, Money: arg(3)}},
		}, "done")
	case "refuses": // ID CODE FIELD TEXT HINT
		s.end(arg(0), delegation.Response{
			Status: delegation.StatusError, Reason: delegation.ReasonRefused, ExitCode: -1, StderrTail: arg(3),
			Error: &delegation.Refusal{Code: delegation.Code(arg(1)), Field: arg(2), Hint: arg(4)},
		}, "")
	case "has": // a file of the parent's: NAME TEXT
		path := filepath.Join(s.origin, arg(0))
		s.check(os.MkdirAll(filepath.Dir(path), 0o755))
		s.check(os.WriteFile(path, []byte(arg(1)), 0o644))
	case "will": // VERB ARG…, without an ID: what the host does with the next request that comes
		s.will(arg(0), args[1:])
	case "outbox", "asked", "model", "sent", "wanted", "file", "config":
		s.Fatal(verb, " prints, and is the transcript's")
	default:
		s.Fatalf("the host knows no %q", verb)
	}
}

// file is a file of the parent's, or where a link leads.
func (s *stage) file(name string) string {
	s.Helper()
	path := filepath.Join(s.origin, name)
	if target, err := os.Readlink(path); err == nil {
		return "  -> " + target + "\n"
	}
	if entries, err := os.ReadDir(path); err == nil {
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return fmt.Sprintf("  %s\n", names)
	}
	data, err := os.ReadFile(path)
	s.check(err)
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// files lists the outbox, without what lies in its directories and with hashes out of the names.
func (s *stage) files() string {
	s.Helper()
	entries, err := os.ReadDir(s.path)
	s.check(err)
	var names []string
	for _, e := range entries {
		name := hash.ReplaceAllString(e.Name(), "HASH")
		if e.Name() != delegation.HeartbeatName {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("[%s]", strings.Join(names, " "))
}
