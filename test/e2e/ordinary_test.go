package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/doctor"
	"torno/sandbox"
	"torno/test/attack"
	"torno/test/house"
)

// These stories differ where the watcher is an ordinary user's. house.Everybody runs the stories that do not.

// TestOrdinaryUserIsAll: such a watcher, all that stands beside its sandboxes and the child are one user, and no other
// user.
func TestOrdinaryUserIsAll(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Ordinary})
	a := h.Submit(house.Ask{ID: "s1", Task: "id -u; id -G; echo mine >file; while ! test -e go; do sleep 0.05; done"})
	user := fmt.Sprint(h.OwnerOf(0))
	h.Says(a, user+"\n"+user+"\n")
	id := h.Sandbox().ID
	watched := []int{h.PID()}
	for _, name := range []string{house.Keeper, house.Sentry, house.Gofer} {
		pids := h.Processes(id, name)
		if len(pids) != 1 {
			t.Errorf("there are %d of %s", len(pids), name)
		}
		watched = append(watched, pids...)
	}
	for _, pid := range watched {
		status := h.Read(fmt.Sprintf("/proc/%d/status", pid))
		for _, who := range []string{"Uid", "Gid"} {
			if want := who + strings.Repeat("\t"+user, 4) + "\n"; !strings.Contains(strings.Replace(status, who+":", who, 1), want) {
				t.Errorf("process %d is not the user's:\n%s", pid, status)
			}
		}
	}
	h.Touch("workspaces/s1/go")
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	info, err := os.Stat(filepath.Join(a.Workspace, "file"))
	h.Must(err)
	if uid := house.Owner(info); uid != h.OwnerOf(0) {
		t.Errorf("what the child made belongs to %d", uid)
	}
}

// TestOrdinaryGroups: what the user may read because of a group, a child of it may not.
func TestOrdinaryGroups(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Ordinary})
	shared := filepath.Join(h.Dir, "shared")
	secret := filepath.Join(shared, "secret")
	h.Must(os.WriteFile(secret, []byte("of the group\n"), 0o640))
	h.Must(os.Chown(secret, 0, house.Group))
	user := exec.Command("cat", secret)
	user.SysProcAttr = h.Command("watcher").SysProcAttr
	if said, err := user.Output(); err != nil || string(said) != "of the group\n" {
		t.Fatalf("the user itself cannot read it: %q, %v", said, err)
	}
	resp := h.Run(house.Ask{ID: "s1", Context: []string{shared}, Task: "id -G; cat " + secret})
	h.Want(resp, delegation.StatusError, delegation.ReasonExited, 1)
	if resp.StdoutTail != fmt.Sprintln(h.OwnerOf(0)) || !strings.Contains(resp.StderrTail, "Permission denied") {
		t.Errorf("the child says %q, %q", resp.StdoutTail, resp.StderrTail)
	}
}

// TestOrdinaryRights: files that are closed to the watcher's user are closed to its children, whichever user owns the files that they see.
func TestOrdinaryRights(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Ordinary})
	shared := filepath.Join(h.Dir, "shared")
	const stranger = 4242
	put := func(name string, uid int) string {
		path := filepath.Join(shared, name)
		h.Must(os.WriteFile(path, []byte("secret\n"), 0o600))
		h.Must(os.Chown(path, uid, uid))
		return path
	}
	own, roots, strangers := put("own", h.OwnerOf(0)), put("roots", 0), put("strangers", stranger)
	closed := h.Mkdir(filepath.Join(shared, "closed", "notes"))
	h.Must(os.Chown(filepath.Dir(closed), stranger, stranger))
	h.Must(os.Chmod(filepath.Dir(closed), 0o700))

	resp := h.Run(house.Ask{ID: "s1", Context: []string{shared}, Task: fmt.Sprintf("cat %s; cat %s %s; exit 0", own, roots, strangers)})
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	for _, row := range []string{"A1", "A6"} {
		held := strings.Count(resp.StderrTail, "Permission denied") / 2
		attack.Record(t, attack.Trial{
			Row: row, Where: "gvisor, not root", Tried: 1, Held: held, Oracle: strings.HasPrefix(resp.StdoutTail, "secret\n"), Note: "the child reads its user's own",
		})
	}
	if resp.StdoutTail != "secret\n" {
		t.Errorf("the child has read %q, %q", resp.StdoutTail, resp.StderrTail)
	}
	if resp := h.Run(house.Ask{ID: "s2", Context: []string{closed}, Task: "true"}); resp.Error == nil || resp.Error.Code != delegation.CodeContext {
		t.Errorf("a way that is closed to the watcher: %+v", resp)
	}
}

// TestOrdinaryWorkspaces: what is another user's is refused, also where the operator's owners allow it.
func TestOrdinaryWorkspaces(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Ordinary, Extra: "    owners: [54321, 4242]"})
	for id, owner := range map[string]int{"roots": 0, "strangers": 4242} {
		dir := h.Mkdir(h.Path("workspaces/" + id))
		h.Must(os.Chown(dir, owner, owner))
		h.Must(os.Chmod(dir, 0o777))
		resp := h.Run(house.Ask{ID: id, Workspace: dir, Task: "echo never"})
		h.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
		if resp.Error == nil || resp.Error.Code != delegation.CodeIdentity {
			t.Errorf("a workspace of user %d: %+v", owner, resp.Error)
		}
	}
}

// TestOrdinaryPromises asks for each guarantee: what cannot be given is refused by name, and the rest runs.
func TestOrdinaryPromises(t *testing.T) {
	without := []sandbox.GuaranteeKey{
		sandbox.OwnIdentity, sandbox.MemoryLimit, sandbox.SwapLimit, sandbox.CPULimit, sandbox.PidsLimit,
	}
	var profiles, offers strings.Builder
	var given []string
	for _, key := range sandbox.GuaranteeKeys {
		if !slices.Contains(without, key) {
			given = append(given, string(key))
			continue
		}
		name := strings.ReplaceAll(string(key), "_", "")
		fmt.Fprintf(&profiles, "  %s:\n    at_least: [%s]\n", name, key)
		fmt.Fprintf(&offers, ", %s", name)
	}
	fmt.Fprintf(&profiles, "  given:\n    at_least: [%s]\n", strings.Join(given, ", "))
	h := house.New(t, house.Plan{Sandbox: house.Ordinary, Profiles: profiles.String(), Offers: offers.String() + ", given"})
	h.Want(h.Run(house.Ask{ID: "given", Profile: "given", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	for _, key := range without {
		name := strings.ReplaceAll(string(key), "_", "")
		resp := h.Run(house.Ask{ID: name, Profile: name, Task: "echo never"})
		h.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
		if resp.Error == nil || resp.Error.Code != delegation.CodeNotEnforced || !strings.Contains(resp.StderrTail, string(key)) {
			t.Errorf("a demand of %s: %+v, %q", key, resp.Error, resp.StderrTail)
		}
	}
}

// TestOrdinaryOperator: what such a user is told fits it. All that is bad is what the configuration accepts.
func TestOrdinaryOperator(t *testing.T) {
	h := house.New(t, house.Plan{Sandbox: house.Ordinary})
	try, err := h.Command("watcher", "check", "--config", h.Config, "--try").CombinedOutput()
	if err != nil || !bytes.Contains(try, []byte("works")) {
		t.Errorf("check --try: %v\n%s", err, try)
	}
	said, _ := h.Command("watcher", "doctor", "--config", h.Config, "--json").Output() // it fails, since something is bad
	var examined struct{ Findings []doctor.Finding }
	h.Must(json.Unmarshal(said, &examined))
	if len(examined.Findings) < len(doctor.Names()) {
		t.Errorf("the doctor said %s", said)
	}
	for _, f := range examined.Findings {
		if f.Refuses || f.Verdict == doctor.Bad && f.Name != "bounds" {
			t.Errorf("it says of a watcher that runs: %+v", f)
		}
		for _, wrong := range []string{"by path", "mounts by handle to work", "run this as root"} {
			if strings.Contains(f.Seen+f.Means+f.Do, wrong) {
				t.Errorf("it says %q: %+v", wrong, f)
			}
		}
	}
}
