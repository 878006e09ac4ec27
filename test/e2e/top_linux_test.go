package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/missing"
)

// window is a real terminal, drawn by tmux, with a server of its own.
type window struct {
	*house.House
	socket string
}

// open runs a program in a terminal of a size.
func (o window) open(width, height string, program *exec.Cmd) {
	o.Helper()
	o.tmux(append([]string{"new-session", "-d", "-x", width, "-y", height, "--"}, program.Args...)...)
	o.Cleanup(func() { _ = exec.Command("tmux", "-S", o.socket, "kill-server").Run() }) // usually it is gone
}

func (o window) tmux(args ...string) string {
	o.Helper()
	command := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", o.socket}, args...)...)
	command.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8")
	out, err := command.CombinedOutput()
	if err != nil {
		o.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// What differs from one picture to the next.
var variable = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`watcher \S+   up \S+`), "watcher VERSION   up AGE"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`(?m)^[0-9a-f]{4,12}(…|\b)`), "KEY"},
	{regexp.MustCompile(`\b\d+[sm]\b`), "AGE"},
	{regexp.MustCompile(`\b\d+(\.\d)?K\b`), "SIZE"},
	{regexp.MustCompile(`ended [0-9a-f]+`), "ended KEY"},
	{regexp.MustCompile(` +\n`), "\n"},
	{regexp.MustCompile(`  +`), "  "},
	{regexp.MustCompile(`(?m)(up AGE  ).*…$`), "${1}…"},
	{regexp.MustCompile(`-{4,}`), "----"},
	{regexp.MustCompile(`\n{3,}`), "\n\n"},
}

// shows waits until the terminal shows a picture.
func (o window) shows(want string) {
	o.Helper()
	var got string
	defer func() {
		if o.Failed() {
			o.Logf("the terminal shows\n%s", got)
		}
	}()
	o.Eventually("the terminal shows\n"+want, func() bool {
		got = o.tmux("capture-pane", "-p")
		for _, v := range variable {
			got = v.is.ReplaceAllString(got, v.as)
		}
		got = strings.TrimSpace(got)
		return got == strings.TrimSpace(want)
	})
}

// TestTopOnATerminal: what a person sees who looks on, makes the window small, asks for an end, thinks again, and ends a child.
func TestTopOnATerminal(t *testing.T) { house.Together(t, house.Each, topOnATerminal) }

func topOnATerminal(t *testing.T, sandbox string) {
	if _, err := exec.LookPath("tmux"); err != nil {
		missing.Skip(t, "scripts/need tmux: ", err)
	}
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "napper", Task: `printf 'one\n\033[2Jtwo\007\n'; sleep 600`})
	h.Says(a, "one")
	o := window{h, filepath.Join(t.TempDir(), "tmux")}
	o.open("80", "24", h.Command("watcher", "top", "--config", h.Config))
	table := `watcher VERSION  up AGE  running 1 of 4  waiting 0  TIME

RUN  OUTBOX  SUBAGENT  AGE  PROFILE  DISK  STATE
KEY  main  napper  AGE  sh  SIZE  running for AGE

-- napper ----
| one
| \x1b[2Jtwo\x07

`
	const keys = "up/down: choose  c: cancel  p: decide  a: ended ones too  q: leave"
	o.shows(table + keys)
	o.tmux("resize-window", "-x", "40", "-y", "12")
	o.shows(`watcher VERSION  up AGE  …

RUN  OUTBOX  SUBAGENT  AGE  PROFIL…
KEY  main  napper  AGE  sh  …

up/down: choose  c: cancel  p: decide…`)
	o.tmux("resize-window", "-x", "80", "-y", "24")
	for _, step := range []struct{ key, foot string }{
		{"c", "cancel napper? y/n"}, {"n", keys}, {"p", "the chosen run asks nothing"}, {"c", "cancel napper? y/n"},
	} {
		o.tmux("send-keys", step.key)
		o.shows(table + step.foot)
	}
	o.tmux("send-keys", "y")
	h.Want(h.Response(a), delegation.StatusCancelled, delegation.ReasonOperator, -1)
	o.shows(`watcher VERSION  up AGE  running 0 of 4  waiting 0  TIME

nothing runs

ended KEY`)
	o.tmux("send-keys", "q")
	h.Eventually("top has left", func() bool { return exec.Command("tmux", "-S", o.socket, "has-session").Run() != nil })
}
