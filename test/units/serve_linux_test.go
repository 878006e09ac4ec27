package units

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// parent is the user that owns the outbox and the workspaces, and that has no rights of others.
const parent = 1000

func TestTheServiceServes(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		need(t, sandbox)
		serves(t, service(t), sandbox)
	})
}

// serves is the whole road, for a parent that is not root and lets no other user in.
func serves(t testing.TB, unit Unit, sandbox string) {
	p := plan(sandbox)
	p.Mounts = "by-handle"
	h := open(t, unit, p)
	h.Must(os.Chown(h.Outbox, parent, 0))
	h.Must(os.Chmod(h.Outbox, 0o770))
	set := filepath.Join(h.Mkdir(filepath.Join(h.Outbox, "workspaces", "s1")), "set-id")
	h.Must(os.WriteFile(set, nil, 0o700))
	h.Must(os.Chown(set, parent, parent))
	h.Must(os.Chmod(set, 0o700|os.ModeSetuid))
	ready := listen(h)
	h.Start()
	if word := <-ready; word != "READY=1" {
		h.Errorf("systemd was told %q", word)
	}
	a := house.Ask{ID: "s1", Workspace: filepath.Dir(set), Task: "echo made >file; cat file"}
	h.Must(os.Chown(a.Workspace, parent, parent))
	h.Must(os.Chmod(a.Workspace, 0o700))
	resp := h.Run(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "made\n" {
		h.Errorf("the child printed %q", resp.StdoutTail)
	}
	if resp.Attested == nil || !*resp.Attested {
		h.Errorf("the host did not look at the sandbox before the agent ran")
	}
	for _, path := range []string{h.Path("response_s1.json"), filepath.Join(a.Workspace, "file")} {
		if owner := ownerOf(h, path); owner != parent {
			h.Errorf("%s belongs to %d", path, owner)
		}
	}
	if info, err := os.Stat(set); err != nil || info.Mode()&os.ModeSetuid != 0 {
		h.Errorf("a set-id file is as it was: %v, %v", info.Mode(), err)
	}
}

// listen is where systemd hears how far a service is: its first word.
func listen(h *house.House) <-chan string {
	h.Helper()
	path := filepath.Join(h.Dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	h.Must(err)
	h.Cleanup(func() { conn.Close() })
	h.Env = append(h.Env, "NOTIFY_SOCKET="+path)
	words := make(chan string, 1)
	go func() {
		word := make([]byte, 64)
		n, err := conn.Read(word)
		if err != nil {
			n = copy(word, err.Error())
		}
		words <- string(word[:n])
	}()
	return words
}

func ownerOf(h *house.House, path string) uint32 {
	h.Helper()
	info, err := os.Stat(path)
	h.Must(err)
	return info.Sys().(*syscall.Stat_t).Uid
}

// onlyFor are capabilities that one launcher could do without.
var onlyFor = map[string]string{"CAP_SYS_CHROOT": house.GVisor, "CAP_SYS_PTRACE": house.Docker}

// TestWithoutTheRightToTrace: everything else works, `watcher check` says that nothing is attested and why, and so does each run. A
// profile that demands it is refused.
func TestWithoutTheRightToTrace(t *testing.T) {
	need(t, house.Docker)
	p := plan(house.Docker)
	p.Offers, p.Profiles = ", strict", "  strict:\n    at_least: [attested]\n"
	h := open(t, service(t).Without("CapabilityBoundingSet", "CAP_SYS_PTRACE"), p)
	out, _ := h.Command("watcher", "check", "--config", h.Config).CombinedOutput() // its exit code tells of other things as well
	const why = "it needs the right to trace (CAP_SYS_PTRACE)"
	if says := regexp.MustCompile(`(?m)^# +attested +NO +.*`).FindString(string(out)); !strings.Contains(says, why) {
		t.Errorf("check says %q in\n%s", says, out)
	}
	h.Start()
	resp := h.Run(house.Ask{ID: "s1", Task: "echo hello"})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attested == nil || *resp.Attested {
		t.Errorf("the response says attested: %v", resp.Attested)
	}
	run, err := h.Client.Run(t.Context(), "main/s1")
	h.Must(err)
	if run.Attestation == nil || run.Attestation.Attested || !strings.Contains(run.Attestation.Why, why) {
		t.Errorf("the run has %+v", run.Attestation)
	}
	refused := h.Run(house.Ask{ID: "s2", Profile: "strict", Task: "echo never"})
	h.Want(refused, delegation.StatusError, delegation.ReasonRefused, -1)
	if !strings.Contains(refused.StderrTail, "attested") {
		t.Errorf("the refusal says %q", refused.StderrTail)
	}
}

// TestEveryCapabilityIsNeeded takes one after the other from the unit, and sees the road broken. What breaks no road has no
// place in the unit.
func TestEveryCapabilityIsNeeded(t *testing.T) {
	for _, name := range service(t).settings["CapabilityBoundingSet"] {
		for _, sandbox := range house.Launchers {
			t.Run(name+"/"+sandbox, func(t *testing.T) {
				need(t, sandbox)
				said := judge(t, func(t testing.TB) { serves(t, service(t).Without("CapabilityBoundingSet", name), sandbox) })
				if needed := onlyFor[name] == "" || onlyFor[name] == sandbox; needed != (said != "") {
					t.Errorf("needed: %t, and without it the story says %q", needed, said)
				}
				t.Log(said)
			})
		}
	}
}

// TestWhatTheUnitLeavesOut shows that it could not have it.
func TestWhatTheUnitLeavesOut(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		need(t, sandbox)
		said := judge(t, func(t testing.TB) { serves(t, service(t).With("RestrictSUIDSGID", "yes"), sandbox) })
		if !strings.Contains(said, "function not implemented") {
			t.Errorf("with RestrictSUIDSGID the story says %q", said)
		}
	})
}
