package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
)

// desk is a watcher whose status the test sets, on a real journal.
type desk struct {
	t       *testing.T
	journal *journal.Journal
	status  control.Status
	err     error
	ready   chan struct{}
	m       *Metrics
}

func newDesk(t *testing.T) *desk {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "state", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	d := &desk{t: t, journal: j, ready: make(chan struct{})}
	close(d.ready)
	d.status = control.Status{Version: "v1", MaxRunning: 4, StartedAt: time.Unix(1700000000, 0), Outboxes: []control.OutboxStatus{
		{Name: "main", Running: 2, Queued: 3, MaxRunning: 4, MaxQueued: 9, Notices: delegation.Notices{{Code: "disk"}, {Code: "disk"}}},
		{Name: "stranger", Running: 5},
	}}
	d.m = New(Source{
		Journal: j, Status: func(context.Context) (control.Status, error) { return d.status, d.err }, Profiles: []string{"shell"}, Outboxes: []string{"main"},
		Ready: d.ready, Log: slog.New(slog.DiscardHandler),
	})
	return d
}

func (d *desk) ask(handler http.Handler, url string) (int, string) {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, url, nil))
	body, _ := io.ReadAll(answer.Result().Body)
	return answer.Code, string(body)
}

// scrape is what a collector reads, of our own numbers.
func (d *desk) scrape() (lines []string) {
	d.m.catchUp(d.t.Context())
	code, body := d.ask(d.m.Handler(), "/metrics")
	if code != http.StatusOK {
		d.t.Fatalf("%d: %s", code, body)
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "torno_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func (d *desk) has(want ...string) {
	d.t.Helper()
	all := "\n" + strings.Join(d.scrape(), "\n") + "\n"
	for _, line := range want {
		if !strings.Contains(all, "\n"+line+"\n") {
			d.t.Errorf("there is no %s in%s", line, all)
		}
	}
}

// begin writes a run, ended or not.
func (d *desk) begin(name string, change func(*journal.Run)) journal.Run {
	d.t.Helper()
	subagent, err := delegation.ParseSubagentID(name)
	if err != nil {
		d.t.Fatal(err)
	}
	request, _ := delegation.ParseRequestID("r-" + name)
	r := journal.Run{
		Outbox: "main", Subagent: subagent, Request: request, Attempt: 1, FileName: "request_" + name + ".json", Stamp: delegation.Stamp{Ino: 1},
		State: delegation.StateQueued, Profile: "shell", Launcher: "docker",
	}
	change(&r)
	r.Key = r.RunKey().Hash()
	if _, err := d.journal.Begin(d.t.Context(), r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func refused(r *journal.Run) {
	r.State, r.Reason, r.Code, r.Text, r.Ended = delegation.StateEnded, delegation.ReasonRefused, delegation.CodeWorkspace, "no", time.Now()
}

// TestEveryEndIsCountedOnce: from the journal's own moves, also those that change nothing the second time.
func TestEveryEndIsCountedOnce(t *testing.T) {
	d := newDesk(t)
	ctx, zero := t.Context(), 0
	d.begin("no", refused)
	d.begin("no", refused) // it is there already
	r := d.begin("yes", func(*journal.Run) {})
	for _, step := range [][2]delegation.State{{delegation.StateQueued, delegation.StateStarting}, {delegation.StateStarting, delegation.StateRunning}} {
		if err := d.journal.Move(ctx, r.Key, step[0], step[1], journal.Change{Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	end := journal.Change{
		Reason: delegation.ReasonExited, ExitCode: &zero, Ended: time.Now(), Timings: &delegation.Timings{Queue: 20, Run: 2000, Total: 2100},
		Usage: &delegation.Usage{Model: &delegation.ModelUsage{InputTokens: 7, OutputTokens: 3}},
	}
	if err := d.journal.Move(ctx, r.Key, delegation.StateRunning, delegation.StateEnded, end); err != nil {
		t.Fatal(err)
	}
	if err := d.journal.Move(ctx, r.Key, delegation.StateRunning, delegation.StateEnded, end); !errors.Is(err, journal.ErrMoved) {
		t.Fatal(err)
	}
	want := []string{
		`torno_runs_ended_total{outbox="main",profile="shell",reason="exited"} 1`,
		`torno_runs_ended_total{outbox="main",profile="shell",reason="refused"} 1`,
		`torno_requests_refused_total{code="workspace",outbox="main"} 1`,
		`torno_run_phase_seconds_sum{phase="run"} 2`, `torno_run_phase_seconds_count{phase="queue"} 1`,
		`torno_model_tokens_total{direction="in",profile="shell"} 7`, `torno_model_tokens_total{direction="out",profile="shell"} 3`,
	}
	d.has(want...)
	d.has(want...)
}

func TestTheStatusIsShownAsItIs(t *testing.T) {
	d := newDesk(t)
	d.has(`torno_up{version="v1"} 1`, `torno_runs_running{outbox="main"} 2`, `torno_runs_queued{outbox="main"} 3`, `torno_runs_running_max{outbox="main"} 4`,
		`torno_places_max 4`, `torno_held_up{by="disk",outbox="main"} 1`, `torno_outbox_trouble{outbox="main"} 0`)
	d.status.Outboxes[0].Running, d.status.Outboxes[0].Trouble = 1, "boom"
	d.has(`torno_runs_running{outbox="main"} 1`, `torno_outbox_trouble{outbox="main"} 1`)
	shelf := control.Shelf{Outbox: "main", Profile: "shell", Ready: 1, Wanted: 2, Memory: 1000}
	strange := control.Shelf{Outbox: "\"}", Profile: "\n", Ready: 7}
	d.status.Pools = []control.Pool{{Launcher: "docker", Shelves: []control.Shelf{shelf, shelf, strange}}} // of two sets of prefixes, and of names that are not configured
	d.has(`torno_sandboxes_ready{outbox="main",profile="shell"} 2`, `torno_sandboxes_wanted{outbox="main",profile="shell"} 4`,
		`torno_sandboxes_ready_bytes{outbox="main",profile="shell"} 2000`, `torno_sandboxes_ready{outbox="other",profile="other"} 7`)
	d.err = errors.New("boom")
	d.has(`torno_up{version=""} 0`)
}

// TestNoRequestMakesASeries: a thousand subagents, and profiles and outboxes of a stranger's choice, make no more series than one (H21).
func TestNoRequestMakesASeries(t *testing.T) {
	d := newDesk(t)
	hostile := func(i int) func(*journal.Run) {
		return func(r *journal.Run) {
			refused(r)
			r.Profile, r.Outbox = fmt.Sprintf("evil\"}\n%d", i), fmt.Sprintf("box%d", i)
			r.SubagentText, r.Text = strings.Repeat("x", i), "no"
		}
	}
	d.begin("s0", hostile(0))
	before := len(d.scrape())
	for i := range 1000 {
		d.begin(fmt.Sprintf("s%d", i+1), hostile(i+1))
	}
	after := d.scrape()
	if len(after) != before {
		t.Errorf("%d series became %d", before, len(after))
	}
	if all := strings.Join(after, "\n"); strings.Contains(all, "evil") || strings.Contains(all, "box") && !strings.Contains(all, "outbox") || strings.Contains(all, "s17") || strings.Contains(all, "stranger") {
		t.Errorf("a request has a word in it:\n%s", all)
	}
	d.has(`torno_runs_ended_total{outbox="other",profile="other",reason="refused"} 1001`)
}

func TestHealth(t *testing.T) {
	d := newDesk(t)
	if code, body := d.ask(d.m.Handler(), "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("%d, %q", code, body)
	}
	d.err = errors.New("/secret/path")
	if code, body := d.ask(d.m.Handler(), "/healthz"); code != http.StatusServiceUnavailable || strings.Contains(body, "secret") {
		t.Errorf("%d, %q", code, body)
	}
	d.err, d.m.source.Ready = nil, make(chan struct{})
	if code, body := d.ask(d.m.Handler(), "/healthz"); code != http.StatusServiceUnavailable || body != "starting\n" {
		t.Errorf("%d, %q", code, body)
	}
	d.m.source.Ready = d.ready
	d.journal.Close()
	if code, body := d.ask(d.m.Handler(), "/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("without a journal it is %d, %q", code, body)
	}
}

// TestOnlyThisMachineAsks: another name for a loopback address is a page's in a browser (H21).
func TestOnlyThisMachineAsks(t *testing.T) {
	d := newDesk(t)
	for host, want := range map[string]int{"127.0.0.1:9464": 200, "[::1]:9464": 200, "localhost:1": 200, "127.0.0.1": 200, "evil.example:9464": 403, "10.0.0.1:9464": 403, "localhost.evil": 403} {
		if code, _ := d.ask(Local(d.m.Handler()), "http://"+host+"/metrics"); code != want {
			t.Errorf("%s: %d", host, code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		answer := httptest.NewRecorder()
		d.m.Handler().ServeHTTP(answer, httptest.NewRequest(method, "/metrics", nil))
		if answer.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, answer.Code)
		}
	}
}

// TestTheTextIsThatOfPrometheus: each family has a head, each line is a sample, and no value ends a label or a line.
func TestTheTextIsThatOfPrometheus(t *testing.T) {
	d := newDesk(t)
	d.status.Version = "v\\1\"}\n2\xff"
	code, body := d.ask(d.m.Handler(), "/metrics")
	form := regexp.MustCompile(`^([a-z_]+)(\{([a-z]+="(\\[\\n"]|[^"\\\n])*",?)+\})? [0-9.e+]+$`)
	heads := 0
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# TYPE "), strings.HasPrefix(line, "# HELP "):
			heads++
		case !form.MatchString(line):
			t.Errorf("%q is no sample", line)
		}
	}
	if code != http.StatusOK || heads != 2*16 || !utf8.ValidString(body) {
		t.Errorf("%d, with %d heads:\n%s", code, heads, body)
	}
}

// TestRoutesOfTheGateway: a label is a name of the configuration or a code in the gateway's form, also where the gateway says something else; while it is away there are no lines.
func TestRoutesOfTheGateway(t *testing.T) {
	d := newDesk(t)
	many := map[string]int64{}
	for i := range 1000 {
		many[fmt.Sprint("code_", i)] = 1
	}
	said, failed := []Route{
		{Name: "claude", Requests: 5, Input: 70, Output: 30, Money: 1.25, Refused: map[string]int64{"budget": 2}},
		{Name: "", Requests: 1, Refused: map[string]int64{"no_route": 1}},
		{Name: "\"}\n", Requests: 2, Refused: many},
		{Name: "other-too", Requests: 4, Refused: map[string]int64{"Ba\"d": 3}},
	}, error(nil)
	d.m.source.RouteNames = []string{"claude"}
	d.m.source.Routes = func(context.Context) ([]Route, error) { return said, failed }
	d.has(
		`torno_gateway_requests_total{route="claude"} 5`, `torno_gateway_requests_total{route="other"} 7`,
		`torno_gateway_tokens_total{direction="in",route="claude"} 70`, `torno_gateway_tokens_total{direction="out",route="claude"} 30`,
		`torno_gateway_money_total{route="claude"} 1.25`, `torno_gateway_refused_total{code="budget",route="claude"} 2`,
		`torno_gateway_refused_total{code="no_route",route="other"} 1`, `torno_gateway_refused_total{code="other",route="other"} 1003`,
	)
	if text := strings.Join(d.scrape(), "\n"); strings.Contains(text, "code_") || strings.Contains(text, "Ba") {
		t.Errorf("a word that is none of ours is a label:\n%s", text)
	}
	failed = errors.New("away")
	if text := strings.Join(d.scrape(), "\n"); strings.Contains(text, "torno_gateway") || !strings.Contains(text, "torno_up") {
		t.Errorf("the gateway is away, and the numbers are\n%s", text)
	}
}
