package compile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// hostile is a policy with every twist: roots in and around the outbox, maps within maps, sockets.
var hostile = compile.Policy{
	Outbox: "main", Dir: "/srv/box",
	Allow:  []compile.Root{"/srv/box/workspaces", "/home/u", "/data"},
	Read:   []compile.Root{"/srv", "/home/u/docs"},
	Hidden: []string{"/home/u/secret", "/run/docker.sock"},
	Paths: []compile.PathMap{
		{Parent: "/outbox", Here: "/srv/box"},
		{Parent: "/p", Here: "/home/u", Engine: "/e"},
		{Parent: "/p/x", Here: "/data"},
		{Parent: "/usr/w", Here: "/data/w"},
		{Parent: "/q", Here: "/srv"},
	},
	Owners: []uint32{1000},
	Profiles: []compile.Profile{{
		Name: "p", Command: []string{"run", "--out={{.AnswerFile}}", "{{.Config}}", "{{.TaskFile}}", "--", "{{.Task}}"},
		Sockets: []sandbox.Socket{{Host: "/run/model.sock", Target: "/data/model.sock"}},
	}},
}

// FuzzCompile tries paths against the promises that every Spec keeps.
func FuzzCompile(f *testing.F) {
	for _, workspace := range []string{
		"/p/ws", "/outbox/workspaces/s1", "workspaces/s1", "/data/ws", "/data/model.sock/x", "/p/x/ws", "/usr/w/s", "/home/u", "//p//.//ws/", "/p/../etc",
	} {
		f.Add("do it", workspace, "answer.txt", "/p", "lib")
		f.Add("{{.Task}} {{.Workspace}}", workspace, "", "/q/box/workspaces", workspace)
		f.Add("-x", workspace, workspace+"/out", "/home/u/docs", "/p/x")
	}
	addFixtures(f)
	f.Fuzz(func(t *testing.T, task, workspace, answer, first, second string) {
		req := request(t, task)
		req.Workspace, req.AnswerFile, req.ContextPaths = workspace, answer, []string{first, second}
		spec, warnings, err := compile.Compile(req, hostile)
		again, _, errAgain := compile.Compile(req, hostile)
		if !reflect.DeepEqual(spec, again) || (err == nil) != (errAgain == nil) {
			t.Fatal("the same request compiled to something else")
		}
		if err != nil {
			checkRefusal(t, err)
			return
		}
		checkMounts(t, spec)
		checkProcess(t, req, spec)
		if len(spec.Mounts)+len(warnings) > 1+2*len(req.ContextPaths) {
			t.Errorf("%d mounts and %d warnings for two places of context", len(spec.Mounts), len(warnings))
		}
	})
}

// addFixtures takes the places of every refusal and every spec that is written down, and attacks of docs/THREATS.md.
func addFixtures(f *testing.F) {
	names, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(names) < 50 {
		f.Fatalf("%d fixtures, %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var fixture struct{ Request map[string]any }
		if err := json.Unmarshal(data, &fixture); err != nil {
			f.Fatal(err)
		}
		text := func(key string) string { value, _ := fixture.Request[key].(string); return value }
		f.Add("t", text("workspace"), text("answer_file"), text("workspace"), text("answer_file"))
		f.Add(text("task"), "/p/ws", text("answer_file"), text("workspace"), text("context_paths"))
	}
	for _, place := range []string{
		"/p/" + strings.Repeat("d/", 2040), "/\u0440/ws", "/p/\uff0e\uff0e/ws", "/pa", "/outboxx/s", "/proc/self/root", "/run/torno/run", "/usr/w", "/tmp", "/home/agent/..", "/srv/box",
		"/p/secret", "/p/secret/x", "/home/u/secret/..", "/data/model.sock", "/data", "/var/run/x", "/q/box/workspaces/../request_x", "/home/u/docs", "./workspaces", "workspaces/..", "/", ".", "/e/ws", "/q", "/q/box", "/q/box/.",
	} {
		f.Add("--help", place, "-x", place, "--")
		f.Add("--", "/p/ws", "", place, "lib")
	}
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	known := []delegation.Code{
		delegation.CodeWorkspace, delegation.CodeAnswerFile, delegation.CodeContext, delegation.CodeInvalid, delegation.CodeTaskTooLong,
	}
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) || !slices.Contains(known, refusal.Code) || refusal.Field == "" || refusal.Text == "" || refusal.Hint == "" {
		t.Errorf("no whole refusal: %#v", err)
	}
	if len(refusal.Text) > 2000 {
		t.Errorf("a text of %d bytes does not fit into a tail", len(refusal.Text))
	}
}

func checkMounts(t *testing.T, spec sandbox.Spec) {
	t.Helper()
	workspaces := 0
	for i, m := range spec.Mounts {
		here := path.Join(m.Source.Base, m.Source.Rel)
		roots := hostile.Allow
		if m.Workspace {
			workspaces++
		} else {
			roots = slices.Concat(hostile.Allow, hostile.Read)
		}
		if !slices.ContainsFunc(roots, func(r compile.Root) bool { return contains(string(r), here) }) {
			t.Errorf("%s is under no root", here)
		}
		for _, kept := range append(hostile.Hidden, hostile.Dir) {
			if contains(here, kept) {
				t.Errorf("%s is or holds %s", here, kept)
			}
		}
		for _, own := range []string{"/", "/usr", "/etc", "/proc", "/run/torno", "/tmp", "/home/agent", "/data/model.sock"} {
			if contains(m.Target, own) || contains(m.Prefix, own) {
				t.Errorf("target %s or prefix %s takes the place of %s", m.Target, m.Prefix, own)
			}
		}
		for _, system := range []string{"/usr", "/etc", "/proc", "/sys", "/dev", "/run/torno", "/var/run", "/data/model.sock"} {
			if contains(system, m.Target) || contains(system, m.Prefix) {
				t.Errorf("target %s or prefix %s lies in %s", m.Target, m.Prefix, system)
			}
		}
		if !contains(m.Prefix, m.Target) || climbs(m.Target) || climbs(m.Source.Rel) {
			t.Errorf("prefix %s, target %s, source %v", m.Prefix, m.Target, m.Source)
		}
		for _, later := range spec.Mounts[i+1:] {
			if contains(later.Target, m.Target) {
				t.Errorf("target %s comes before %s", m.Target, later.Target)
			}
			if m.Prefix != later.Prefix && (contains(m.Prefix, later.Prefix) || contains(later.Prefix, m.Prefix)) {
				t.Errorf("prefix %s beside %s", m.Prefix, later.Prefix)
			}
		}
	}
	if workspaces != 1 {
		t.Errorf("%d workspaces", workspaces)
	}
}

func climbs(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

func checkProcess(t *testing.T, req delegation.Request, spec sandbox.Spec) {
	t.Helper()
	argv := spec.Process.Argv
	if len(argv) != 6 || argv[5] != req.Task || argv[4] != "--" {
		t.Errorf("the task is not one argument after the \"--\": %q", argv)
	}
	if !contains(spec.Process.Dir, spec.Answer.Path) || spec.Answer.Path == spec.Process.Dir {
		t.Errorf("the answer %s is not in %s", spec.Answer.Path, spec.Process.Dir)
	}
	if len(spec.Files) != 3 || string(spec.Files[1].Content) != req.Task {
		t.Errorf("the files are %+v", spec.Files)
	}
	if _, err := json.Marshal(spec); err != nil {
		t.Error(err)
	}
}

// contains is written anew, so that it does not share a mistake with what it checks.
func contains(dir, p string) bool {
	return strings.HasPrefix(strings.TrimSuffix(p, "/")+"/", strings.TrimSuffix(dir, "/")+"/")
}
