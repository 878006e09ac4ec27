package local

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"torno/internal/approval"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// TestRunDirectory: init can read its files, and every user the rest.
func TestRunDirectory(t *testing.T) {
	dir := t.TempDir()
	spec := Trial{Dir: "/scratch"}.Spec()
	spec.Files = []sandbox.File{{Name: "task", Content: []byte("do it")}}
	spec.Timeout, spec.Approvals = time.Minute, &approval.Policy{Pause: time.Hour} // its clock may stand still so long
	spec.Answer = sandbox.Answer{Path: "/workspace/answer", FromStdout: true, Max: 7}
	expected := []runfile.Mount{{Path: "/workspace", Device: 1, Inode: 2, Writable: true, Hardened: true}}
	run := Run{Nonce: "0123456789abcdef", Who: mounts.Identity{UID: 7, GID: 8}, Spec: spec, Mounts: expected, Filter: []byte("8 bytes.")}
	if err := run.Write(dir); err != nil {
		t.Fatal(err)
	}
	file, err := runfile.Read(filepath.Join(dir, "run.json"))
	if err != nil || !file.For(run.Nonce) || !reflect.DeepEqual(file.Mounts, expected) || !reflect.DeepEqual(file.Argv, spec.Process.Argv) {
		t.Errorf("init is told %+v, %v", file, err)
	}
	if file.Allowed != time.Minute+time.Hour {
		t.Errorf("init's backstop allows %v", file.Allowed)
	}
	limits := []runfile.Rlimit{{Name: "core"}, {Name: "fsize", Value: 1 << 20}, {Name: "nofile", Value: 256}}
	if file.Answer != (runfile.Answer{Path: "/workspace/answer", FromStdout: true, Max: 7}) || !reflect.DeepEqual(file.Rlimits, limits) {
		t.Errorf("init is told %+v", file)
	}
	for name, want := range map[string]string{
		"filter": "8 bytes.", "task": "do it", "etc/passwd": "agent:x:7:8:agent:/home/agent:/bin/sh\n", "etc/group": "agent:x:8:\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		info, statErr := os.Stat(filepath.Join(dir, name))
		if err != nil || statErr != nil || string(got) != want || info.Mode() != 0o444 {
			t.Errorf("%s: %q, %v, %v", name, got, info.Mode(), err)
		}
	}
	if err := run.Write(dir); err == nil {
		t.Error("a run directory that was in use was taken")
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]bool{
		"task": true, "config.yaml": true, "": false, ".": false, "..": false, "a/b": false, "etc": false, "run.json": false, "filter": false, "/x": false,
	} {
		if err := checkFileName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
