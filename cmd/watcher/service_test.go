package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheFirstConfigurationIsWhole runs the line that `service install` prints where there is none: the line makes the configuration and all
// that this names, and a shell can read it.
func TestTheFirstConfigurationIsWhole(t *testing.T) {
	home := t.TempDir()
	config := filepath.Join(home, ".config/torno/watcher.yaml")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "watcher"), []byte("#!/bin/sh\necho \"$*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", firstConfiguration(config, home, true))
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(config); err != nil || string(text) != "check --dir "+home+"/outbox\n" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(home, "outbox/workspaces")); err != nil || !info.IsDir() {
		t.Errorf("the outbox was not made: %v", err)
	}
	const system = "install -d /etc/torno && install -d -m 0770 -o 1000 -g 1000 /srv/torno/outbox /srv/torno/outbox/workspaces && watcher check --dir /srv/torno/outbox > /etc/torno/watcher.yaml"
	if line := firstConfiguration("/etc/torno/watcher.yaml", "/root", false); line != system {
		t.Errorf("for the system it is\n%s", line)
	}
}
