package configs

import (
	"bytes"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/launchers"
)

// emptyEnvironment makes what Parse returns the same on every machine.
func emptyEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"STATE_DIRECTORY", "XDG_STATE_HOME", "DOCKER_HOST"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", "/home/operator")
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(Examples, path.Join("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestExamples loads all of them without an error or a warning, and writes and reads each again.
func TestExamples(t *testing.T) {
	emptyEnvironment(t)
	names, err := fs.Glob(Examples, "examples/*.yaml")
	if err != nil || len(names) < 4 {
		t.Fatalf("found %v, %v", names, err)
	}
	for _, name := range names {
		c, warnings, err := readOnFour(name, example(t, path.Base(name)))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: warnings %v, error:\n%v", name, warnings, err)
			continue
		}
		checkRoundTrip(t, name, c)
	}
}

func checkRoundTrip(t *testing.T, name string, c Config) {
	t.Helper()
	data, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := readOnFour(name+", written", data)
	if err != nil || !reflect.DeepEqual(c, back) {
		t.Errorf("%s: read\n%+v\nwrote\n%s\nand read %v\n%+v", name, c, data, err, back)
	}
	if _, err := c.Validate(); err != nil {
		t.Errorf("%s: Validate: %v", name, err)
	}
}

// TestFullExampleHasEveryKey fails when the schema gets a key that the example does not explain.
func TestFullExampleHasEveryKey(t *testing.T) {
	var document yaml.Node
	if err := yaml.Unmarshal(example(t, "full.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	r := &report{lines: make(map[string]int)}
	c := newConfig(launchers.All, 4)
	c.schema().read(r, "", document.Content[0])
	seen := make(map[string]bool)
	for key := range r.lines {
		key = regexp.MustCompile(`^(profiles|outboxes)\.[^.]+`).ReplaceAllString(key, "$1.*")
		seen[regexp.MustCompile(`\[[0-9]+\]`).ReplaceAllString(key, "")] = true
	}
	keys := keysOf("", c.schema())
	for _, key := range keys {
		if !seen[key] {
			t.Errorf("examples/full.yaml does not have the key %s", key)
		}
	}
	if len(keys) < 60 {
		t.Errorf("only %d keys were found in the schema", len(keys))
	}
}

// keysOf lists the keys of a value and of all that lies in it, with * for the name of a profile or an outbox.
func keysOf(at string, v value) (keys []string) {
	if at != "" {
		keys = append(keys, at)
	}
	switch v := v.(type) {
	case object:
		for _, f := range v {
			keys = append(keys, keysOf(join(at, f.key), f.value)...)
		}
	case named[compile.Profile]:
		keys = append(keys, keysOf(join(at, "*"), v.body(new(compile.Profile)))...)
	case named[Outbox]:
		keys = append(keys, keysOf(join(at, "*"), v.body(new(Outbox)))...)
	case list[sandbox.Socket]:
		keys = append(keys, keysOf(at, v.item(new(sandbox.Socket)))...)
	case list[sandbox.Route]:
		keys = append(keys, keysOf(at, way{new(sandbox.Route)}.keys())...)
	case list[compile.PathMap]:
		keys = append(keys, keysOf(at, v.item(new(compile.PathMap)))...)
	}
	return keys
}

// TestFullExampleShowsDefaults takes away what full.yaml calls an example; the rest must be what is the default.
func TestFullExampleShowsDefaults(t *testing.T) {
	emptyEnvironment(t)
	full, _, err := readOnFour("full.yaml", example(t, "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	minimal, _, err := readOnFour("minimal.yaml", example(t, "minimal.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shell := full.Profiles[0]
	shell.Name, shell.Description = "default", ""
	if !reflect.DeepEqual(shell, minimal.Profiles[0]) {
		t.Errorf("the profile shell is\n%+v\nthe default is\n%+v", shell, minimal.Profiles[0])
	}
	full.State, full.Init, full.Accept, full.Gateway, full.Metrics = minimal.State, minimal.Init, minimal.Accept, minimal.Gateway, minimal.Metrics
	full.Set("docker", "runtime", "")
	full.Set("gvisor", "runsc", "")
	full.Set("gvisor", "keeper", "")
	full.Profiles, full.Outboxes = minimal.Profiles, minimal.Outboxes
	if !reflect.DeepEqual(full, minimal) {
		t.Errorf("full.yaml has\n%+v\nthe defaults are\n%+v", full, minimal)
	}
}

// TestFullExampleNamesWhatThereIs keeps the lists in comments complete.
func TestFullExampleNamesWhatThereIs(t *testing.T) {
	data := example(t, "full.yaml")
	for _, p := range compile.Placeholders {
		if !bytes.Contains(data, []byte("#   "+p.Text+" ")) {
			t.Errorf("full.yaml does not explain %s", p.Text)
		}
	}
	full, _, err := readOnFour("full.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	given := []sandbox.GuaranteeKey{sandbox.KernelIsolation, sandbox.Sockets} // not by every machine that runs Docker; comments name them
	for _, key := range sandbox.GuaranteeKeys {
		if !bytes.Contains(data, []byte(key)) {
			t.Errorf("full.yaml does not name the guarantee %s", key)
		}
		if !slices.Contains(given, key) && !slices.Contains(full.Profiles[1].AtLeast, key) {
			t.Errorf("full.yaml does not have the guarantee %s", key)
		}
	}
}

// TestMassGenExample compiles what a real client of MassGen sends.
func TestMassGenExample(t *testing.T) {
	emptyEnvironment(t)
	c, _, err := readOnFour("massgen.yaml", example(t, "massgen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := delegation.DecodeRequest([]byte(`{
		"version": 1, "subagent_id": "s1", "request_id": "9f2c4e1ab0d37755", "task": "--help me", "timeout_seconds": 300,
		"workspace": "/srv/project/.massgen/workspaces/w/subagents/s1/workspace",
		"answer_file": "/srv/project/.massgen/workspaces/w/subagents/s1/workspace/answer.txt",
		"yaml_config": {
			"agents": [{"backend": {"type": "codex", "command_line_docker_image": "x",
				"cwd": "/srv/project/.massgen/workspaces/w/subagents/s1/workspace/agent_1"}}],
			"orchestrator": {"context_paths": [{"path": "/srv/project/.massgen/workspaces/w", "permission": "read"}]}
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	spec, warnings, err := compile.Compile(req, c.Policies()[0])
	if err != nil || len(warnings) > 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	workspace := "/srv/project/.massgen/workspaces/w/subagents/s1/workspace"
	want := []string{
		"/run/torno/bin/sandbox-init", "agent", "massgen", "--task", "/run/torno/run/task", "--answer", workspace + "/answer.txt",
		"--config", "/run/torno/run/config.yaml", "--", "massgen",
	}
	if !slices.Equal(spec.Process.Argv, want) || spec.Process.Dir != workspace {
		t.Errorf("it runs %q in %s", spec.Process.Argv, spec.Process.Dir)
	}
	if len(spec.Mounts) != 2 || spec.Mounts[0].Workspace || spec.Mounts[1].Prefix != "/srv/project/.massgen" {
		t.Errorf("the mounts are %+v", spec.Mounts)
	}
	if config := spec.Files[len(spec.Files)-1]; config.Name != "config.yaml" || bytes.Contains(config.Content, []byte("docker")) {
		t.Errorf("the run configuration is\n%s", config.Content)
	}
}
