package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torno/internal/agent/installed"
	"torno/internal/cli"
	"torno/sandbox/launchers"
)

// TestATrialHasAKeyOfItsOwn runs a trial beside a running watcher. The trial writes its key into a file of its own, names that file in its routes,
// removes it at the end, and leaves the key of the watcher's gateway alone.
func TestATrialHasAKeyOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	a := newApp(launchers.All)
	s := &a.source
	s.local.Dir, s.local.State, s.agent = filepath.Join(dir, "outbox"), filepath.Join(dir, "state"), "claude"
	s.machine = installed.Machine{
		Env: func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": "sk-second-0123456789", "HOME": dir}[name]
		},
		Path: func(string) (string, error) { return "/bin/true", nil },
	}
	config, _, err := s.load(cli.Args{})
	if err != nil {
		t.Fatal(err)
	}
	live := config.KeyFile("claude")
	for _, running := range []bool{false, true} {
		if running {
			if err := errors.Join(os.MkdirAll(filepath.Dir(live), 0o700), os.Chmod(config.State, 0o700), os.WriteFile(live, []byte("sk-first-0123456789"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		trial, remove, err := s.forTrial(cli.Args{}, config)
		if err != nil {
			t.Fatal(err)
		}
		files, _ := trial.Gateway.Credentials()
		if len(files) != 1 || files[0] == live {
			t.Fatalf("the trial's credentials are %v", files)
		}
		if key, err := os.ReadFile(files[0]); err != nil || string(key) != "sk-second-0123456789" {
			t.Errorf("the trial's key is %q, %v", key, err)
		}
		if key, _ := os.ReadFile(live); running && string(key) != "sk-first-0123456789" {
			t.Errorf("the key of the gateway that runs is %q", key)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
		var want, left []string
		if running {
			want = []string{filepath.Join("gateway", "claude.key")}
		}
		for _, pattern := range []string{"*", "*/*"} {
			found, _ := filepath.Glob(filepath.Join(config.State, pattern))
			for _, path := range found {
				if info, err := os.Stat(path); err == nil && (!info.IsDir() || !running) {
					name, _ := filepath.Rel(config.State, path)
					left = append(left, name)
				}
			}
		}
		if !slices.Equal(left, want) {
			t.Errorf("in the state lie %v, want %v", left, want)
		}
		if files, _ := config.Gateway.Credentials(); !slices.Equal(files, []string{live}) {
			t.Errorf("the configuration that is printed has the credentials %v", files)
		}
	}
}
