package configs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox/launchers"
	"torno/test/attack"
)

// stranger is a user who is neither root nor the one who runs the tests.
const stranger = 4711

// heldMachine is a configuration that names something of every sort that is obeyed, each two directories below dir.
func heldMachine(t *testing.T, dir string) (places map[string]string) {
	t.Helper()
	emptyEnvironment(t)
	places = map[string]string{}
	for _, what := range []string{"file", "state", "credential", "command", "gateway", "box", "roots"} {
		above := filepath.Join(dir, what, "in")
		if err := os.MkdirAll(above, 0o755); err != nil {
			t.Fatal(err)
		}
		places[what] = filepath.Join(above, what)
	}
	for _, dir := range []string{places["state"], places["gateway"], filepath.Join(places["box"], "workspaces")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"credential", "command", "file", "roots"} {
		if err := os.WriteFile(places[what], nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "engine.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return places
}

const heldText = `
version: 1
state: STATE
docker: {host: unix://DIR/engine.sock}
gateway:
  routes:
    keyed: {preset: anthropic, credential: {file: KEY}, roots: ROOTS}
    printed: {preset: openai, credential: {command: [COMMAND]}}
outboxes: {main: {dir: BOX, allow: [BOX/workspaces]}}
`

// TestNothingIsObeyedThatAnotherUserCanReplace (H25): the configuration, and what it names and the watcher obeys.
func TestNothingIsObeyedThatAnotherUserCanReplace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root gives files away")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	trial := attack.Trial{Row: "H25", Where: "host", Oracle: true}
	for what, key := range map[string]string{
		"file": "", "state": "state", "credential": "gateway.routes.keyed.credential", "command": "gateway.routes.printed.credential",
		"roots": "gateway.routes.keyed.roots", "gateway": "gateway.state",
	} {
		for _, how := range []string{"owner", "owner of the directory", "owner above", "mode", "group", "link"} {
			dir, err := os.MkdirTemp("", "held") // short, for the socket
			must(err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			places := heldMachine(t, dir)
			text := strings.NewReplacer("DIR", dir, "STATE", places["state"], "KEY", places["credential"], "BOX", places["box"], "ROOTS", places["roots"], "COMMAND", places["command"]).Replace(heldText)
			if what == "gateway" {
				text = strings.NewReplacer("gateway:\n", "gateway:\n  state: "+places["gateway"]+"\n").Replace(text)
			}
			must(os.WriteFile(places["file"], []byte(text), 0o600))
			check := func() error {
				loaded, _, err := Load(launchers.All, places["file"])
				if err != nil {
					return err
				}
				_, err = loaded.CheckHost()
				return err
			}
			if err := check(); err != nil {
				trial.Oracle = false
				t.Errorf("%s as it is: %v", what, err)
			}
			place := places[what]
			switch how {
			case "owner":
				if what == "gateway" {
					continue // it belongs to the gateway's user
				}
				must(os.Chown(place, stranger, stranger))
			case "owner of the directory":
				must(os.Chown(filepath.Dir(place), stranger, stranger))
			case "owner above":
				must(os.Chown(filepath.Dir(filepath.Dir(place)), stranger, stranger))
			case "mode":
				must(os.Chmod(filepath.Dir(place), 0o777))
			case "group":
				must(errors.Join(os.Chown(filepath.Dir(place), 0, stranger), os.Chmod(filepath.Dir(place), 0o775)))
			case "link":
				// The directory is moved, and a link of the other user's leads there, in a directory where every user may make names.
				moved := filepath.Dir(place) + ".real"
				above := filepath.Dir(filepath.Dir(place))
				must(os.Rename(filepath.Dir(place), moved))
				must(os.Symlink(moved, filepath.Dir(place)))
				must(os.Lchown(filepath.Dir(place), stranger, stranger))
				must(os.Chmod(above, os.ModeSticky|0o777))
			}
			trial.Tried++
			err = check()
			if err == nil || !strings.Contains(err.Error(), "another user could replace") || !strings.Contains(err.Error(), key) {
				t.Errorf("%s, %s: %v", what, how, err)
			} else {
				trial.Held++
			}
		}
	}
	attack.Record(t, trial)
}
