package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/launchers"
	"torno/sandbox/sandboxtest"
	"torno/test/wait"
)

// toy is a launcher that a developer adds: it takes this Kind and a line in the list.
type toy struct {
	world *sandboxtest.World

	mu     sync.Mutex
	opened []launcher.Setting
	purged []string
}

// toyBox is the toy's launcher.
type toyBox struct{ sandbox.Launcher }

func (toyBox) Close() error { return nil }

func (y *toy) kind() *launcher.Kind {
	return &launcher.Kind{
		Name:   "toy",
		Nature: doctor.Nature{Title: "Toy", Program: true, Install: "unwrap the toy", Remedy: "unwrap the toy"},
		Keys: []launcher.Key{
			{Name: "colour", Form: launcher.Text, Max: 20, Match: regexp.MustCompile(`^[a-z]+$`), Wrong: "is no colour", Default: "red"},
			{Name: "program", Form: launcher.Program},
			{Name: "room", Form: launcher.Size, Min: 1 << 20, Max: 1 << 30, Default: int64(2 << 20)},
			{Name: "engine", Form: launcher.Address, Max: 100, Default: "unix:///run/toy.sock", Wrong: "is no socket"},
		},
		Unsuited: func(fs sandbox.RootFS) string {
			if fs.Image != "" {
				return "a toy has no images"
			}
			return ""
		},
		Reach: func(context.Context, launcher.Settings) error { return nil },
		Open: func(_ context.Context, s launcher.Setting) (launcher.Launcher, error) {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.opened = append(y.opened, s)
			return toyBox{y.world.Launcher(string(s.Installation))}, nil
		},
		About: func(_ context.Context, s launcher.Settings) (doctor.Launcher, error) {
			return doctor.Launcher{Version: "7", Socket: s.Text("colour"), Arch: "amd64", Runtime: "toy"}, nil
		},
		Left: func(context.Context, launcher.Settings) ([]doctor.Leftover, error) { return nil, nil },
		Purge: func(_ context.Context, s launcher.Setting) error {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.purged = append(y.purged, string(s.Installation))
			return nil
		},
	}
}

// shelf is a machine with the toy in the list.
type shelf struct {
	*testing.T
	toy   *toy
	list  launcher.List
	dir   string
	out   bytes.Buffer
	wrong bytes.Buffer
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	y := &toy{world: sandboxtest.NewWorld(t)}
	s := &shelf{T: t, toy: y, list: slices.Concat(launchers.All, launcher.List{y.kind()}), dir: t.TempDir()}
	bin := filepath.Join(s.dir, "bin")
	s.must(os.Mkdir(bin, 0o755))
	s.must(os.WriteFile(filepath.Join(bin, "sandbox-init"), nil, 0o755))
	t.Setenv("PATH", bin)
	s.must(os.MkdirAll(filepath.Join(s.dir, "outbox", "workspaces"), 0o755))
	return s
}

func (s *shelf) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// watcher executes a command, and returns its exit code.
func (s *shelf) watcher(ctx context.Context, args ...string) int {
	s.out.Reset()
	s.wrong.Reset()
	nothing := func(string) string { return "" }
	system := cli.System{Env: nothing, In: strings.NewReader(""), Out: cli.NewOutput(&s.out, nothing), Errors: cli.NewOutput(&s.wrong, nothing)}
	return run(ctx, args, system, s.list)
}

// place are the options that name the installation.
func (s *shelf) place() []string {
	return []string{"--dir", filepath.Join(s.dir, "outbox"), "--state", filepath.Join(s.dir, "state")}
}

// file is a configuration in which the profile has the toy, and the toy has the given keys.
func (s *shelf) file(sandbox, keys string) string {
	s.Helper()
	path := filepath.Join(s.dir, "watcher.yaml")
	s.must(os.WriteFile(path, []byte("version: 1\nstate: "+s.dir+"/state\n"+keys+"profiles: {p: {sandbox: "+sandbox+"}}\n"+
		"outboxes: {o: {dir: "+s.dir+"/outbox, allow: ["+s.dir+"/outbox/workspaces]}}\n"), 0o600))
	return path
}

// TestALauncherIsAFolderAndALine: a launcher that is only added to the list is in the help, in the configuration with its
// bounds and suggestions, in what check and doctor say, in the choice, and in the purge.
func TestALauncherIsAFolderAndALine(t *testing.T) {
	s := newShelf(t)
	ctx := t.Context()
	if code := s.watcher(ctx, "help", "run"); code != exitOK || !strings.Contains(s.out.String(), "docker, gvisor, toy, or auto") {
		t.Errorf("help run does not name it: %s", &s.out)
	}
	for keys, want := range map[string]string{
		"toy: {colour: RED}\n":           `toy.colour: "RED" is no colour`,
		"toy: {color: red}\n":            "toy.color: is not a known key; did you mean colour?",
		"toyy: {}\n":                     "toyy: is not a known key; did you mean toy?",
		"toy: {room: 2KiB}\n":            "toy.room: ",
		"toy: {engine: \"tcp://1:1\"}\n": `toy.engine: "tcp://1:1" is no socket`,
	} {
		if code := s.watcher(ctx, "check", "--config", s.file("toy", keys)); code != exitUsage || !strings.Contains(s.wrong.String(), want) {
			t.Errorf("%s: exit %d, %s", keys, code, &s.wrong)
		}
	}
	if code := s.watcher(ctx, "check", "--config", s.file("tooy", "")); code != exitUsage || !strings.Contains(s.wrong.String(), "did you mean toy?") {
		t.Errorf("a misspelled toy: exit %d, %s", code, &s.wrong)
	}
	if code := s.watcher(ctx, append([]string{"check", "--sandbox", "toy", "--image", "debian:12"}, s.place()...)...); code != exitUsage || !strings.Contains(s.wrong.String(), "a toy has no images") {
		t.Errorf("an image in a toy: exit %d, %s", code, &s.wrong)
	}
	code := s.watcher(ctx, append([]string{"check", "--sandbox", "toy"}, s.place()...)...)
	for _, want := range []string{"sandbox: toy", "colour: red", "room: 2MiB", "no_network"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("check does not say %q (exit %d): %s%s", want, code, &s.out, &s.wrong)
		}
	}
	s.watcher(ctx, append([]string{"doctor", "--sandbox", "toy"}, s.place()...)...)
	if !strings.Contains(s.out.String(), "Toy 7, at red") {
		t.Errorf("the doctor does not see it: %s%s", &s.out, &s.wrong)
	}
}

// TestAToyRunsARequest: from the request's file to the response's, and to the purge, with a launcher that nothing knows by
// its name.
func TestAToyRunsARequest(t *testing.T) {
	s := newShelf(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int)
	socket := filepath.Join(s.dir, "toy.sock")
	listener, err := net.Listen("unix", socket)
	s.must(err)
	defer listener.Close()
	file := s.file("toy", "toy: {colour: blue, engine: \"unix://"+socket+"\"}\n")
	go func() { ended <- s.watcher(ctx, "run", "--config", file) }()
	outbox := filepath.Join(s.dir, "outbox")
	s.must(os.Mkdir(filepath.Join(outbox, "workspaces", "s1"), 0o755))
	request, err := json.Marshal(map[string]any{
		"version": 1, "subagent_id": "s1", "request_id": "r", "task": "echo hello", "yaml_config": map[string]any{}, "answer_file": "",
		"workspace": filepath.Join(outbox, "workspaces", "s1"), "timeout_seconds": 60,
	})
	s.must(err)
	s.must(os.WriteFile(filepath.Join(outbox, "new"), request, 0o644))
	s.must(os.Rename(filepath.Join(outbox, "new"), filepath.Join(outbox, "request_s1.json")))
	var answer delegation.Response
	wait.Until(t, "there is an answer", func() bool {
		data, err := os.ReadFile(filepath.Join(outbox, "response_s1.json"))
		return err == nil && json.Unmarshal(data, &answer) == nil
	})
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("the watcher ended with %d: %s", code, &s.wrong)
	}
	if answer.Status != delegation.StatusCompleted || answer.Launcher != "toy" {
		t.Errorf("the answer is %+v", answer)
	}
	if len(s.toy.opened) != 1 || s.toy.opened[0].Settings.Text("colour") != "blue" || s.toy.opened[0].Settings.Size("room") != 2<<20 {
		t.Errorf("it was opened with %+v", s.toy.opened)
	}
	s.list = launcher.List{s.toy.kind()} // the others would look at this machine
	if code := s.watcher(t.Context(), "purge", "--yes", "--state", filepath.Join(s.dir, "state")); code != exitOK || len(s.toy.purged) != 1 {
		t.Errorf("purge: exit %d, %v, %s", code, s.toy.purged, &s.wrong)
	}
	place := s.dir + "/state"
	s.saysWhere("state: "+place, `"gateway":"",`, `"state":"`+place+`"`)
	s.saysWhere("state:   \"\\x2f"+place[1:]+"\" # by hand\ngateway: {state: "+s.dir+"/theirs}", `"gateway":"`+s.dir+`/theirs"`, `"state":"`+place+`"`)
	s.saysWhere("state: "+place+".none", `"code":"no_state"`, place+".none")
}

// saysWhere purges a state as the packages' scripts do, which learn in this way where it is, however the configuration spells that.
func (s *shelf) saysWhere(state string, says ...string) {
	s.Helper()
	file := s.file("toy", "")
	text, err := os.ReadFile(file)
	s.must(err)
	s.must(os.WriteFile(file, []byte(strings.Replace(string(text), "state: "+s.dir+"/state", state, 1)), 0o600))
	s.watcher(s.Context(), "purge", "--yes", "--json", "--config", file)
	for _, part := range says {
		if !strings.Contains(s.out.String(), part) {
			s.Errorf("%s: %q is not in %s%s", state, part, &s.out, &s.wrong)
		}
	}
}
