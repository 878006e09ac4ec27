package manager

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
)

// request reads what a client asked for, as the host does.
func (h *host) request(id string) delegation.Request {
	h.t.Helper()
	data, _, err := h.dir.Read("request_"+id+".json", 1<<20)
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := delegation.DecodeRequest(data)
	if err != nil {
		h.t.Fatal(err)
	}
	return req
}

func TestSpawnAsksForWhatItWasTold(t *testing.T) {
	h := newHost(t)
	workspace := t.TempDir()
	run := h.spawn(h.client(Options{}), SpawnOptions{
		ID: "s1", Task: "--not an option", Workspace: workspace, Timeout: 1500 * time.Millisecond,
		Profile: "massgen", Model: "gpt-5", SessionID: "9", ParentID: "p1", ContextPaths: []string{"/src"},
		YAMLConfig: map[string]any{"agents": []any{}}, AnswerFile: "out/answer.md",
	})
	req := h.request("s1")
	if req.Task != "--not an option" || req.Workspace != workspace || req.AnswerFile != workspace+"/out/answer.md" {
		t.Errorf("request %+v", req)
	}
	if req.TimeoutSeconds != 2 || req.Profile.String() != "massgen" || req.Model.String() != "gpt-5" ||
		req.SessionID.String() != "9" || req.ParentID.String() != "p1" || !slices.Equal(req.ContextPaths, []string{"/src"}) {
		t.Errorf("request %+v", req)
	}
	if req.RequestID.String() != run.RequestID() || req.YAMLConfig["agents"] == nil || req.CreatedAt.IsZero() {
		t.Errorf("request %+v", req)
	}
}

func TestSpawnDefaults(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	run, other := h.spawn(m, SpawnOptions{}), h.spawn(m, SpawnOptions{})
	if !regexp.MustCompile(`^sub_[0-9a-f]{8}$`).MatchString(run.ID()) || run.ID() == other.ID() || run.RequestID() == other.RequestID() {
		t.Errorf("ids %s %s, requests %s %s", run.ID(), other.ID(), run.RequestID(), other.RequestID())
	}
	req := h.request(run.ID())
	if req.Workspace != "workspaces/"+run.ID() || req.AnswerFile != "answer.txt" || req.TimeoutSeconds != 300 {
		t.Errorf("request %+v", req)
	}
	if want := h.join("workspaces/" + run.ID()); run.Workspace() != want {
		t.Errorf("the workspace is %s, not %s", run.Workspace(), want)
	}
	if fi, err := os.Stat(run.Workspace()); err != nil || fi.Mode() != fs.ModeDir|0o770 {
		t.Errorf("workspace %v, %v", fi.Mode(), err)
	}
}

// TestTheTimeOfAChildIsItsProfiles where its parent asks for none. A watcher of before does not tell it.
func TestTheTimeOfAChildIsItsProfiles(t *testing.T) {
	h := newHost(t)
	h.beat.Profiles = []delegation.ProfileOffer{{Name: "shell", TimeoutSeconds: 60}, {Name: "agent", TimeoutSeconds: 900}, {Name: "silent"}, {Name: "forged", TimeoutSeconds: 1 << 62}}
	h.sendBeat()
	m := h.client(Options{})
	for _, c := range []struct {
		profile string
		asked   time.Duration
		want    int
	}{
		{"", 0, 60}, {"shell", 0, 60}, {"agent", 0, 900}, {"silent", 0, 300}, {"forged", 0, 300}, {"agent", time.Second, 1},
	} {
		run := h.spawn(m, SpawnOptions{Profile: c.profile, Timeout: c.asked})
		if got := h.request(run.ID()).TimeoutSeconds; got != c.want || run.timeout != time.Duration(c.want)*time.Second {
			t.Errorf("profile %q, asked for %v: it has %d s, want %d", c.profile, c.asked, got, c.want)
		}
	}
}

func TestSpawnWhereNobodyServes(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(h *host) error
		says  string
	}{
		"no heartbeat": {func(h *host) error { return os.Remove(h.join("watcher.json")) }, "it has no heartbeat"},
		"an old one": {func(h *host) error {
			return h.rewrite(func(b *delegation.Heartbeat) { b.BeatAt = time.Now().Add(-time.Hour) })
		}, "the last heartbeat was at"},
		"about to stop": {func(h *host) error { return h.rewrite(func(b *delegation.Heartbeat) { b.Stopping = true }) }, "about to stop"},
		"stopped": {func(h *host) error {
			return h.rewrite(func(b *delegation.Heartbeat) { b.Stopping, b.Stopped = true, true })
		}, "its watcher stopped at"},
		"stopped, by an earlier watcher": {func(h *host) error {
			return h.rewrite(func(b *delegation.Heartbeat) { b.Stopping, b.BeatAt = true, time.Now().Add(-time.Minute) })
		}, "its watcher stopped at"},
		"nonsense": {func(h *host) error { return os.WriteFile(h.join("watcher.json"), []byte("{"), 0o600) }, "cannot tell whether a watcher serves"},
		"a FIFO": {func(h *host) error {
			return errors.Join(os.Remove(h.join("watcher.json")), mkfifo(h.join("watcher.json")))
		}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				if err := c.spoil(h); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err := h.client(Options{}).Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true"})
				if !errors.Is(err, ErrNobodyServing) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(began); waited > 6*time.Second {
					t.Errorf("it took %v to say so", waited)
				}
				h.untouched()
			})
		})
	}
}

// rewrite publishes another heartbeat.
func (h *host) rewrite(change func(*delegation.Heartbeat)) error {
	beat := h.beat
	change(&beat)
	return h.dir.Publish(delegation.HeartbeatName, must(beat.Encode()))
}

// untouched checks that a client that failed left nothing.
func (h *host) untouched() {
	h.t.Helper()
	if left := h.names(); len(left) > 0 {
		h.t.Errorf("left in the outbox: %q", left)
	}
	if entries, err := os.ReadDir(h.join(Workspaces)); len(entries) > 0 {
		h.t.Errorf("left workspaces: %v, %v", entries, err)
	}
}

func TestSpawnRefusesEarly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options SpawnOptions
		code    delegation.Code
		field   string
	}{
		"an id with a slash":       {SpawnOptions{ID: "../s1"}, delegation.CodeBadID, "subagent_id"},
		"no task":                  {SpawnOptions{Task: "\x00none"}, delegation.CodeInvalid, "task"},
		"a profile not on offer":   {SpawnOptions{Profile: "root"}, delegation.CodeProfile, "profile"},
		"a profile like an option": {SpawnOptions{Profile: "-x"}, delegation.CodeInvalid, "profile"},
		"a model with a space":     {SpawnOptions{Model: "a b"}, delegation.CodeInvalid, "model"},
		"a relative workspace":     {SpawnOptions{Workspace: "ws"}, delegation.CodeWorkspace, "workspace"},
		"a missing workspace":      {SpawnOptions{Workspace: "/nowhere/at/all"}, delegation.CodeWorkspace, "workspace"},
		"a file as a workspace":    {SpawnOptions{Workspace: file}, delegation.CodeWorkspace, "workspace"},
		"a link as a workspace":    {SpawnOptions{Workspace: link}, delegation.CodeWorkspace, "workspace"},
		"an answer outside":        {SpawnOptions{AnswerFile: "../answer.txt"}, delegation.CodeAnswerFile, "answer_file"},
		"an answer elsewhere":      {SpawnOptions{AnswerFile: "/etc/passwd"}, delegation.CodeAnswerFile, "answer_file"},
		"the workspace as answer":  {SpawnOptions{AnswerFile: "."}, delegation.CodeAnswerFile, "answer_file"},
		"a relative context":       {SpawnOptions{ContextPaths: []string{"src"}}, delegation.CodeContext, "context_paths"},
		"too much":                 {SpawnOptions{Task: strings.Repeat("x", 1<<20)}, delegation.CodeTooBig, "task"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			o := c.options
			switch o.Task {
			case "":
				o.Task = "true"
			case "\x00none":
				o.Task = ""
			}
			_, err := h.client(Options{}).Spawn(t.Context(), o)
			refusal, ok := errors.AsType[*delegation.Refusal](err)
			if !ok || refusal.Code != c.code || refusal.Field != c.field {
				t.Errorf("error %#v", err)
			}
			h.untouched()
		})
	}
}

func TestSpawnDoesNotReplaceUnasked(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	first := h.spawn(m, SpawnOptions{ID: "s1", Task: "first"})
	if _, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "second"}); !errors.Is(err, ErrOutstanding) {
		t.Errorf("error %v", err)
	}
	if h.request("s1").Task != "first" {
		t.Error("replaced all the same")
	}
	second := h.spawn(m, SpawnOptions{ID: "s1", Task: "second", Replace: true})
	if h.request("s1").Task != "second" || second.RequestID() == first.RequestID() {
		t.Error("not replaced")
	}
	if err := first.Withdraw(); !errors.Is(err, ErrSuperseded) {
		t.Errorf("the first run withdrew the second: %v", err)
	}
}

// TestAReplacementThatFailsTakesNothing: the earlier result is there as long as no new request is.
func TestAReplacementThatFailsTakesNothing(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	first := h.spawn(m, SpawnOptions{ID: "s1"})
	h.respond(first)
	_, err := m.Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "again", Replace: true, Workspace: h.join("none")})
	if err == nil {
		t.Fatal("it was spawned")
	}
	if result, err := first.Wait(t.Context()); err != nil || result.RequestID != first.RequestID() {
		t.Errorf("the earlier result: %+v, %v", result, err)
	}
}

func TestSpawnClearsWhatIsStale(t *testing.T) {
	h := newHost(t)
	write(t, h.join("cancel_s1"), "")
	write(t, h.join("response_s1.json"), `{"status":"completed"}`)
	write(t, h.join("cancel_s2"), "")
	h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
	if got, want := h.names(), []string{"cancel_s2", "request_s1.json"}; !slices.Equal(got, want) {
		t.Errorf("in the outbox: %q, want %q", got, want)
	}
}

func TestSpawnFindsTheWorkspaceOfTheSameSubagentAgain(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	write(t, run.Workspace()+"/notes", "kept")
	if err := run.Withdraw(); err != nil {
		t.Fatal(err)
	}
	again := h.spawn(m, SpawnOptions{ID: "s1"})
	if text, err := os.ReadFile(again.Workspace() + "/notes"); string(text) != "kept" {
		t.Errorf("notes %q, %v", text, err)
	}
}

// The host checks the owner of a workspace before it lets a child in, so a parent that is root must not keep it.
func TestSpawnGivesTheWorkspaceToTheOwnerOfTheOutbox(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	h := newHost(t)
	if err := os.Chown(h.path, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
	for _, path := range []string{h.join(Workspaces), run.Workspace(), h.join("request_s1.json")} {
		if st := must(os.Lstat(path)).Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 {
			t.Errorf("%s belongs to %d:%d", path, st.Uid, st.Gid)
		}
	}
}

// What another process of the container, or an earlier child, planted in the outbox leads nowhere.
func TestSpawnFollowsNothingPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(h *host, elsewhere string) error
		fails bool
	}{
		"workspaces is a link": {func(h *host, elsewhere string) error { return os.Symlink(elsewhere, h.join(Workspaces)) }, true},
		"the workspace is a link": {func(h *host, elsewhere string) error {
			return errors.Join(os.Mkdir(h.join(Workspaces), 0o700), os.Symlink(elsewhere, h.join("workspaces/s1")))
		}, true},
		"the workspace is a file": {func(h *host, _ string) error {
			return errors.Join(os.Mkdir(h.join(Workspaces), 0o700), os.WriteFile(h.join("workspaces/s1"), nil, 0o600))
		}, true},
		"the sentinel is a link": {func(h *host, elsewhere string) error {
			return os.Symlink(elsewhere+"/victim", h.join("cancel_s1"))
		}, false},
		"the sentinel is a directory": {func(h *host, _ string) error { return os.Mkdir(h.join("cancel_s1"), 0o700) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			elsewhere := t.TempDir()
			write(t, elsewhere+"/victim", "untouched")
			if err := c.plant(h, elsewhere); err != nil {
				t.Fatal(err)
			}
			_, err := h.client(Options{}).Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true"})
			if (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			if c.fails && slices.Contains(h.names(), "request_s1.json") {
				t.Error("asked all the same")
			}
			entries := must(os.ReadDir(elsewhere))
			if text := must(os.ReadFile(elsewhere + "/victim")); string(text) != "untouched" || len(entries) != 1 {
				t.Errorf("elsewhere: %q, %v", text, entries)
			}
		})
	}
}

func TestSpawnThatCannotWriteLeavesNothing(t *testing.T) {
	h := newHost(t)
	if err := os.Mkdir(h.join("request_s1.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := h.client(Options{}).Spawn(t.Context(), SpawnOptions{ID: "s1", Task: "true", Replace: true})
	if !errors.Is(err, delegation.ErrDirectory) {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(h.join("request_s1.json")); err != nil {
		t.Error(err)
	}
	h.untouched()
}

func TestSpawnWithADoneContextAsksForNothing(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.client(Options{}).Spawn(ctx, SpawnOptions{Task: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	h.untouched()
}
