package adapter_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

const (
	sid         = "0b6dc2a4-5f6e-4f3a-9d36-111111111111"
	claudeInit  = `printf '%s\n' '{"type":"system","subtype":"init","session_id":"` + sid + `","claude_code_version":"2.1.330","model":"m"}'`
	claudeKeeps = `mkdir -p "$HOME/.claude/projects/-w/` + sid + `/subagents"; F="$HOME/.claude/projects/-w/` + sid + `.jsonl"; ` +
		`printf '{"said":"%s"}\n{"torn' "$(cat $D/task)" >>"$F"; echo '{}' >"$HOME/.claude/projects/-w/` + sid + `/subagents/agent-1.jsonl"; echo '{"secret":1}' >"$HOME/.claude/settings.json"`
	codexKeeps = `mkdir -p "$HOME/.codex/sessions/2026/11/23"; ` +
		`printf '{"payload":{"cli_version":"0.169.0"}}\n' >>"$HOME/.codex/sessions/2026/11/23/rollout-2026-11-23T00-00-00-` + sid + `.jsonl"; ` +
		`printf '%s\n' '{"type":"thread.started","thread_id":"` + sid + `"}'`
)

// homed gives the rig's agent a home.
func homed(r *rig) *rig {
	r.cmd.Env = append(r.cmd.Env, "HOME="+r.in("home"))
	return r
}

// goesOn has the agent go on with a bundle.
func (r *rig) goesOn(bundle []byte) *rig {
	r.Helper()
	r.plant("kept", string(bundle), 0o600)
	at := slices.Index(r.cmd.Args, "--")
	r.cmd.Args = slices.Insert(r.cmd.Args, at, "--session", r.in("kept"))
	return homed(r)
}

// bundle is the last bundle that was told, and its version.
func (r *rig) bundle(told []agent.Line) (data []byte, version string, bundles int) {
	r.Helper()
	for _, l := range told {
		if l.Kind != agent.Session {
			continue
		}
		if l.Part.Bundle != bundles {
			data, bundles = nil, l.Part.Bundle
		}
		if l.Part.Offset != int64(len(data)) {
			r.Fatalf("a part is at %d, behind %d", l.Part.Offset, len(data))
		}
		data, version = append(data, l.Part.Data...), l.Part.Version
	}
	return data, version, bundles
}

// names are the headers of a bundle.
func headers(t *testing.T, bundle []byte) string {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(bundle))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestASessionIsKeptAndGoneOnWith(t *testing.T) {
	for _, c := range []struct{ name, keeps, says, resume, file, version string }{
		{"claude", claudeKeeps, claudeInit + "; " + claudeSays + "; " + claudeEnds, "--resume=" + sid, ".claude/projects/-w/" + sid + ".jsonl", "2.1.330"},
		{"codex", codexKeeps, codexAnswers, "exec resume --json", ".codex/sessions/2026/11/23/rollout-2026-11-23T00-00-00-" + sid + ".jsonl", "0.169.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := homed(newRig(t, c.name, c.keeps+"; "+c.says))
			code, told := first.run()
			bundle, version, bundles := first.bundle(told)
			if code != 0 || len(bundle) == 0 || version != c.version || bundles != 1 {
				t.Fatalf("exit %d, %d bundles of %d bytes, version %q: %s", code, bundles, len(bundle), version, first.read("stderr"))
			}
			if text := headers(t, bundle); strings.Contains(text, "secret") || strings.Contains(text, "torn\n") || !strings.Contains(text, `"session":"`+sid+`"`) {
				t.Errorf("the bundle has %s", text)
			}
			second := newRig(t, c.name, `printf '%s ' "$@" >$D/args; cp "$HOME/`+c.file+`" $D/found; `+c.keeps+"; "+c.says).goesOn(bundle)
			code, told = second.run()
			if args := second.read("args"); code != 0 || !strings.Contains(args, c.resume) || !strings.Contains(args, sid) {
				t.Errorf("exit %d, called with %q: %s", code, args, second.read("stderr"))
			}
			if found := second.read("found"); !strings.HasSuffix(found, "}\n") {
				t.Errorf("it found %q", found)
			}
			if after, _, _ := second.bundle(told); len(after) == 0 || bytes.Equal(after, bundle) {
				t.Errorf("behind it %d bytes are kept", len(after))
			}
		})
	}
}

// TestEachTurnIsKept at its end: a sandbox that is killed in the next one loses no more than that.
func TestEachTurnIsKept(t *testing.T) {
	turn := claudeKeeps + "; " + claudeInit + "; " + claudeSays + "; " + claudeEnds + "; "
	r := homed(newRig(t, "claude", turn+"cat $D/go; "+turn+"cat $D/go"))
	if err := syscall.Mkfifo(r.in("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start() // two turns at once would be kept once
	for _, kept := range []string{`"bundle":1`, `"bundle":2`} {
		r.until(kept)
		r.plant("go", "", 0o600)
	}
	if code, _ := r.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, r.read("stderr"))
	}
}

// TestASessionOfAnotherVersion: an agent that cannot go on with it fails, and the result says what to do. What was kept before stays.
func TestASessionOfAnotherVersion(t *testing.T) {
	kept := packed(t, manifestOf("claude"), "projects/-w/"+sid+".jsonl", "{}\n")
	for name, script := range map[string]string{
		"with a result":    claudeInit + `; printf '%s\n' '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}'; exit 1`,
		"without a result": `echo "cannot read the session" >&2; exit 1`,
	} {
		r := newRig(t, "claude", script).goesOn(kept)
		code, told := r.run()
		if said := r.read("stderr"); code != 1 || !strings.Contains(said, "2.1.1 had kept") || !strings.Contains(said, "ask again without the session") {
			t.Errorf("%s: exit %d, %q", name, code, said)
		}
		if bundle, _, _ := r.bundle(told); len(bundle) > 0 {
			t.Errorf("%s: %d bytes are kept", name, len(bundle))
		}
	}
}

func manifestOf(name string) string {
	return fmt.Sprintf(`{"torno_session":1,"agent":%q,"version":"2.1.1","session":%q}`, name, sid)
}

// packed is a bundle of a manifest and files, given as names and contents.
func packed(t *testing.T, manifest string, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	fmt.Fprintln(w, manifest)
	for i := 0; i < len(files); i += 2 {
		header, err := json.Marshal(map[string]any{"name": files[i], "size": len(files[i+1])})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(w, "%s\n%s", header, files[i+1])
	}
	w.Close()
	return out.Bytes()
}

// TestAHostileBundle: the agent is not started, the next step is said, and nothing is written but below the agent's directory of sessions.
func TestAHostileBundle(t *testing.T) {
	good := manifestOf("claude")
	bomb := packed(t, good, "projects/-w/a", strings.Repeat("\x00", 65<<20))
	for what, bundle := range map[string][]byte{
		"nothing":              {},
		"no gzip":              []byte("PK\x03\x04"),
		"no manifest":          packed(t, "x"),
		"another form":         packed(t, strings.Replace(good, ":1", ":2", 1)),
		"another agent":        packed(t, manifestOf("codex")),
		"an option as session": packed(t, strings.Replace(good, sid, "--settings", 1)),
		"a path as session":    packed(t, strings.Replace(good, sid, "../../x", 1)),
		"a way out":            packed(t, good, "projects/../../out", "x"),
		"an absolute name":     packed(t, good, "/tmp/torno-out", "x"),
		"settings":             packed(t, good, "settings.json", `{"hooks":{}}`),
		"the directory itself": packed(t, good, "projects", "x"),
		"a deep name":          packed(t, good, "projects/"+strings.Repeat("a/", 20)+"x", "x"),
		"a zero byte":          packed(t, good, "projects/a\x00b", "x"),
		"a bomb":               bomb,
		"cut":                  bomb[:len(bomb)/2],
		"a negative size":      packed(t, good+"\n"+`{"name":"projects/x","size":-1}`),
		"a long line":          packed(t, good+"\n"+strings.Repeat("x", 1<<20)),
		"many files":           packed(t, good, strings.Split(strings.Repeat("projects/x,,", 1001), ",")[:2002]...),
	} {
		r := newRig(t, "claude", "touch $D/ran").goesOn(bundle)
		code, told := r.run()
		if last := r.last(told); code != 1 || !last.Failed || !strings.Contains(last.Text, "ask again without a session") {
			t.Errorf("%s: exit %d, %+v", what, code, last)
		}
		if _, err := os.Stat(r.in("ran")); err == nil {
			t.Errorf("%s: the agent ran", what)
		}
		for _, out := range []string{r.in("out"), r.in("home/out"), r.in("home/.claude/settings.json"), "/tmp/torno-out"} {
			if _, err := os.Lstat(out); err == nil {
				t.Errorf("%s: there is %s", what, out)
			}
		}
	}
}

// TestAHostileSession: what lies in the place of an agent's session neither stops its adapter nor has it read without end. The run ends as
// it would without a session.
func TestAHostileSession(t *testing.T) {
	says := "; " + claudeInit + "; " + claudeSays + "; " + claudeEnds
	there := `mkdir -p "$HOME/.claude/projects/-w"; cd "$HOME/.claude/projects/-w"; `
	for what, plants := range map[string]string{
		"a FIFO":         there + "mkfifo " + sid + ".jsonl",
		"a link":         there + "ln -s /dev/zero " + sid + ".jsonl",
		"a directory":    there + "mkdir " + sid + ".jsonl",
		"a huge file":    there + "truncate -s 1T " + sid + ".jsonl",
		"nothing at all": there + "true",
		"a link above":   `mkdir -p "$HOME/.claude"; ln -s / "$HOME/.claude/projects"`,
		"no directory":   `mkdir -p "$HOME"; mkfifo "$HOME/.claude"`,
	} {
		r := homed(newRig(t, "claude", plants+says))
		code, told := r.run()
		if bundle, _, _ := r.bundle(told); code != 0 || len(bundle) > 0 || r.read("answer") != "the answer" {
			t.Errorf("%s: exit %d, %d bytes kept, answer %q: %s", what, code, len(bundle), r.read("answer"), r.read("stderr"))
		}
		if last := told[len(told)-1]; last.Kind != agent.Notice || !strings.Contains(last.Text, "is not kept") {
			t.Errorf("%s: it ends with %+v", what, last)
		}
	}
	r := homed(newRig(t, "claude", claudeKeeps+`; head -c 9000000 /dev/urandom >"$HOME/.claude/projects/-w/`+sid+`/b"`+says))
	if _, told := r.run(); told[len(told)-1].Kind != agent.Notice || !strings.Contains(told[len(told)-1].Text, "too long") {
		t.Errorf("what does not fit ends with %+v", told[len(told)-1])
	}
}

// TestASessionNamesNoFile: an id is not part of a path until it was looked at.
func TestASessionNamesNoFile(t *testing.T) {
	for _, id := range []string{"../../../etc/passwd", "-x", "a/b", strings.Repeat("a", 65), "*", ""} {
		line, err := json.Marshal(map[string]string{"type": "system", "subtype": "init", "session_id": id})
		if err != nil {
			t.Fatal(err)
		}
		r := homed(newRig(t, "claude", fmt.Sprintf("printf '%%s\\n' '%s'; ", line)+claudeEnds))
		if _, told := r.run(); len(told) == 0 || told[len(told)-1].Kind != agent.Result {
			t.Errorf("%q: it ends with %+v", id, told)
		}
	}
}

// TestALinkIsReplaced: a bundle is not written through what lies in its place.
func TestALinkIsReplaced(t *testing.T) {
	name := "projects/-w/" + sid + ".jsonl"
	r := newRig(t, "claude", claudeInit+"; "+claudeSays+"; "+claudeEnds).goesOn(packed(t, manifestOf("claude"), name, "{}\n"))
	r.plant("victim", "as it was", 0o600)
	place := r.in("home/.claude/" + name)
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.in("victim"), place); err != nil {
		t.Fatal(err)
	}
	code, _ := r.run()
	var st unix.Stat_t
	if err := unix.Lstat(place, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || code != 0 || r.read("victim") != "as it was" {
		t.Errorf("exit %d; the place has the mode %o, %v; the link's target says %q", code, st.Mode, err, r.read("victim"))
	}
}
