package units

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// everyWall is each setting that a service of ours has had.
const everyWall = `[Service]
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
`

// behind makes all attempts behind a unit's walls.
func behind(t *testing.T, text string) (said map[string]string) {
	t.Helper()
	unit, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	walls, err := unit.Walls()
	if err != nil {
		t.Fatal(err)
	}
	environment, err := json.Marshal(walls)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"watcher", proper} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(filepath.Join(dir, "watcher"), "run")
	command.Env = append(os.Environ(), wallsAre+"="+string(environment))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	return said
}

// TestWallsAreSystemds compares what stands in for systemd with what it did itself. Without walls all is done, where the
// machine has it.
func TestWallsAreSystemds(t *testing.T) {
	free, shut := behind(t, "[Service]\n"), behind(t, everyWall)
	for _, a := range attempts {
		want := "done"
		if a.stopped != nil {
			want = a.stopped.Error()
		}
		if free[a.name] != "done" {
			t.Logf("NOT SHOWN HERE: %s: without walls: %s", a.name, free[a.name])
		} else if shut[a.name] != want {
			t.Errorf("%s: %s, and with systemd: %s", a.name, shut[a.name], want)
		}
	}
}
