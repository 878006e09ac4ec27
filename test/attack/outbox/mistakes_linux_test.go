package outbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/attack"
	"torno/test/house"
)

// mistakes are roots that no operator may allow, and words of the complaint.
var mistakes = []struct {
	Row, name, says string
	roots           func(h *house.House) []string
}{
	{Row: "P7", name: "the state directory", says: "state directory", roots: func(h *house.House) []string { return []string{h.Dir + "/state"} }},
	{Row: "P7", name: "what lies in it", says: "state directory", roots: func(h *house.House) []string { return []string{h.Mkdir(h.Dir + "/state/docker")} }},
	{Row: "P7", name: "what holds it", says: "state directory", roots: func(h *house.House) []string { return []string{h.Dir} }},
	{Row: "P7", name: "a link to it", says: "state directory", roots: func(h *house.House) []string { return []string{link(h, h.Dir+"/state")} }},
	{Row: "P8", name: "the directory of the engine's socket", says: "is root on this machine", roots: func(*house.House) []string { return []string{filepath.Dir(socket())} }},
	{Row: "P8", name: "a link to that", says: "is root on this machine", roots: func(h *house.House) []string { return []string{link(h, filepath.Dir(socket()))} }},
	{Row: "P8", name: "the socket", says: "is root on this machine", roots: func(*house.House) []string { return []string{socket()} }},
	{Row: "P18", name: "no root at all", says: "is missing or empty", roots: func(*house.House) []string { return nil }},
}

// TestMistakes: the watcher does not start with such a root, and would with a harmless one in its place.
func TestMistakes(t *testing.T) {
	h := house.New(t, house.Plan{})
	trials := map[string]*attack.Trial{}
	for _, m := range mistakes {
		trial := trials[m.Row]
		if trial == nil {
			trial = &attack.Trial{Row: m.Row, Where: "watcher check", Oracle: true}
			trials[m.Row] = trial
		}
		said, err := check(h, m.roots(h))
		trial.Tried++
		if err != nil && strings.Contains(said, m.says) {
			trial.Held++
		} else {
			t.Errorf("%s: %v, %s", m.name, err, said)
		}
		said, err = check(h, []string{h.Mkdir(filepath.Join(h.Dir, "harmless"))})
		trial.Oracle = trial.Oracle && err == nil
		if err != nil {
			t.Errorf("a harmless root in place of %s: %v, %s", m.name, err, said)
		}
	}
	for _, trial := range trials {
		attack.Record(t, *trial)
	}
}

// check asks the watcher about the house's configuration with other roots. It has an outbox of its own.
func check(h *house.House, roots []string) (said string, err error) {
	h.Helper()
	file := filepath.Join(h.Dir, "mistake.yaml")
	outbox := h.Mkdir(filepath.Join(h.Dir, "empty"))
	before, _, found := strings.Cut(h.Read(h.Config), "    dir: ")
	if !found {
		h.Fatal("the configuration has another form")
	}
	text := before + fmt.Sprintf("    dir: %s\n    allow: [%s]\n    profiles: [sh]\n", outbox, strings.Join(roots, ", "))
	h.Must(os.WriteFile(file, []byte(text), 0o600))
	command := exec.Command(house.Program("watcher"), "check", "--config", file)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	return out.String(), err
}

func link(h *house.House, to string) string {
	h.Helper()
	path := filepath.Join(h.Dir, "link-to-"+filepath.Base(to))
	h.Must(os.Symlink(to, path))
	return path
}

// socket is the engine's.
func socket() string {
	if at, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return at
	}
	return "/var/run/docker.sock"
}
