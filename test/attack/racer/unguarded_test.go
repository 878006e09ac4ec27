//go:build linux

package racer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/attack"
	"torno/test/house"
)

// unguarded is the oracle of the lanes with one mount inside another: a runtime that is told each mount by its path, in a sandbox that
// is not attested before its agent runs. So both defences of these lanes are away, the kernel's nesting and the attestation.
// Nothing of the product is in it.
type unguarded struct {
	lane          lane
	outer, inner  string // the two sources
	try           func(name string, u *unguarded) string
	tried, fallen int
}

// nestedIn is where the inner source shows in the outer one.
func (u *unguarded) nestedIn() string { return "/ctx" + strings.TrimPrefix(u.inner, u.outer) }

// task reads what is at the inner mount, and reads again: the way to it may be a link for a moment, which leads nowhere inside.
func (u *unguarded) task() []string {
	read := "cat " + u.nestedIn() + "/canary; "
	return []string{"/bin/sh", "-c", strings.Repeat(read, 10) + "true"}
}

// run starts sandboxes, one after the other, until one of them shows the victim's file.
func (u *unguarded) run() {
	for end := time.Now().Add(chance); u.fallen == 0 && (u.tried < enough || time.Now().Before(end)); {
		u.tried++
		if strings.Contains(u.try(fmt.Sprintf("torno-unguarded-%d-%d", os.Getpid(), u.tried), u), strings.TrimSpace(secret)) {
			u.fallen++
		}
	}
}

// record keeps the score of the lane. By path another defence holds it, which has a row of its own.
func (u *unguarded) record(t *testing.T, all attack.Trial, got tally) {
	t.Helper()
	row := all.Row
	if row == "M1" {
		row = "M9"
	}
	attack.Record(t, attack.Trial{
		Row: row, Where: all.Where + ", " + u.lane.name, Tried: got.served + got.refused + got.fallen, Held: got.served + got.refused,
		Oracle: u.fallen > 0, Note: fmt.Sprintf("by path, and not attested, %d of %d fell", u.fallen, u.tried),
	})
}

// unguard runs the oracles of all lanes with one mount inside another, one after the other.
func unguard(lanes []lane, parent string, try func(name string, u *unguarded) string) (all []*unguarded) {
	for _, l := range lanes {
		if !l.nested() {
			continue
		}
		inner := l.inner
		if inner == "" {
			inner = l.workspace
		}
		dir := filepath.Join(parent, l.name)
		u := &unguarded{lane: l, outer: filepath.Join(dir, l.context), inner: filepath.Join(dir, inner), try: try}
		u.run()
		all = append(all, u)
	}
	return all
}

// byEngine has the engine mount both.
func byEngine(t *testing.T, engine house.Engine, image string) func(string, *unguarded) string {
	return func(name string, u *unguarded) string {
		body, err := json.Marshal(map[string]any{
			"Image": image, "Cmd": u.task(), "NetworkDisabled": true,
			"HostConfig": map[string]any{
				"NetworkMode": "none", "Binds": []string{"/usr:/usr:ro", u.outer + ":/ctx:ro", u.inner + ":" + u.nestedIn() + ":ro"},
			},
		})
		must(t, err)
		id, err := engine.Create(name, body)
		if err != nil {
			return ""
		}
		defer engine.Remove(t, id)
		return engine.Finish(t, id)
	}
}

// byRunsc has runsc mount both.
func byRunsc(t *testing.T) func(string, *unguarded) string {
	state := t.TempDir()
	t.Cleanup(func() { // runsc keeps a network namespace mounted there
		if err := unix.Unmount(filepath.Join(state, "null-netns"), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Error(err)
		}
	})
	return func(name string, u *unguarded) string {
		bundle := t.TempDir()
		root := filepath.Join(bundle, "root")
		for _, dir := range []string{"usr", "ctx", "proc", "tmp"} {
			must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		}
		for _, dir := range []string{"bin", "lib", "lib64"} {
			must(t, os.Symlink("usr/"+dir, filepath.Join(root, dir)))
		}
		bind := func(from, to string) map[string]any {
			return map[string]any{"destination": to, "type": "bind", "source": from, "options": []string{"rbind", "ro"}}
		}
		text, err := json.Marshal(map[string]any{
			"ociVersion": "1.0.0",
			"process":    map[string]any{"args": u.task(), "cwd": "/", "env": []string{"PATH=/bin"}, "user": map[string]int{"uid": 0, "gid": 0}},
			"root":       map[string]any{"path": root},
			"mounts":     []any{bind("/usr", "/usr"), bind(u.outer, "/ctx"), bind(u.inner, u.nestedIn())},
			"linux":      map[string]any{"namespaces": []map[string]string{{"type": "pid"}, {"type": "mount"}, {"type": "network"}}},
		})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600))
		run := exec.CommandContext(t.Context(), house.Program("runsc"), "--root="+state, "--platform=systrap", "--network=none", "--ignore-cgroups",
			"--overlay2=none", "--directfs=false", "--file-access-mounts=shared", "run", "--bundle="+bundle, name)
		said, _ := run.Output()                                                                    // it fails where what it looks up changes meanwhile
		_ = exec.Command(house.Program("runsc"), "--root="+state, "delete", "--force", name).Run() // that is gone where run came to its end
		return string(said)
	}
}
