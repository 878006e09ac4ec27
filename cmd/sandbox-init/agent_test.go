//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

func TestStartedLineComesFirst(t *testing.T) {
	before := time.Now()
	r := newBox(t, "echo to stderr >&2; echo to stdout; exit 7").run(t)
	line, rest, _ := strings.Cut(r.stderr, "\n")
	at, err := runfile.ParseFirstLine(line)
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("%q: %v, %v", line, at, err)
	}
	if rest != "to stderr\n" || r.stdout != "to stdout\n" || r.status.ExitStatus() != 7 {
		t.Errorf("stderr %q, stdout %q, status %#x", rest, r.stdout, r.status)
	}
}

func TestExitCodesAreTheAgents(t *testing.T) {
	for _, code := range []int{0, 1, 2, 10, 124, 125, 126, 127, 128, 137, 143, 253, 255} {
		newBox(t, fmt.Sprintf("exit %d", code)).run(t).exits(t, code)
	}
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGTERM, unix.SIGSEGV, unix.SIGPIPE} {
		newBox(t, fmt.Sprintf("kill -%d $$", sig)).run(t).exits(t, 128+int(sig))
	}
}

// TestTheCodeThatIsGivenUp: init needs one for success.
func TestTheCodeThatIsGivenUp(t *testing.T) {
	r := newBox(t, "exit 254").run(t)
	if said := r.agentSaid(t); r.status.ExitStatus() != 253 || said != "torno-init: the exit code 254 is reported as 253\n" {
		t.Errorf("status %#x, %q", r.status, said)
	}
}

func TestInitsWordsInTheAgentsMouth(t *testing.T) {
	forged := string(runfile.FailedLine(runfile.FailureMount, "not me")) + string(runfile.StartedLine(time.Unix(1, 0)))
	b := newBox(t, `printf %s "$FORGED" >&2; exit 125`)
	b.file.Env = append(b.file.Env, "FORGED="+forged)
	r := b.run(t)
	if said := r.agentSaid(t); said != forged || r.status.ExitStatus() != runfile.FailedExit {
		t.Errorf("status %#x, %q", r.status, said)
	}
}

func TestProgramsThatDoNotRun(t *testing.T) {
	dir := t.TempDir() // what the agent may run, mounted at ctx
	for name, file := range map[string]struct {
		mode    os.FileMode
		content string
	}{
		"good": {0o755, "#!/bin/sh\nexit 5\n"}, "plain": {0o644, "#!/bin/sh\n"}, "orphan": {0o755, "#!/no/such\n"}, "nonsense": {0o755, "nonsense"},
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		argv []string
		code int
		says string
	}{
		{[]string{"good"}, 5, ""},
		{[]string{ctx + "/good"}, 5, ""},
		{[]string{"../ctx/good"}, 5, ""},
		{[]string{"none"}, 127, `cannot run "none": it is not in the PATH "/none:.:/srv/ctx:/bin"`},
		{[]string{"here"}, 127, `cannot run "here": it is not in the PATH`},
		{[]string{"/no/such"}, 127, "there is no such file"},
		{[]string{"./good"}, 127, "there is no such file"},
		{[]string{"/bin/sh/x"}, 127, "there is no such file"},
		{[]string{"plain"}, 126, "permission denied"},
		{[]string{ctx}, 126, "is a directory"},
		{[]string{"/root/x"}, 126, "permission denied"},
		{[]string{"orphan"}, 126, "interpreter or loader is missing"},
		{[]string{"nonsense"}, 126, "exec format error"},
		{[]string{"good", strings.Repeat("x", 1<<20)}, 126, "argument 1 has 1048576 bytes and may have 131071"},
	}
	for _, test := range tests {
		b := newBox(t, "")
		b.plant(t, "here", "#!/bin/sh\n")
		if err := os.Chmod(b.in("here"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.plan.Binds[0].Source = dir
		b.file.Mounts[0] = pinned(t, dir, b.file.Mounts[0])
		b.file.Argv, b.file.Env = test.argv, []string{"PATH=/none:.:" + ctx + ":/bin"}
		r := b.run(t)
		said := r.agentSaid(t)
		if r.status.ExitStatus() != test.code || !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
			t.Errorf("%.40q: status %#x, said %q", test.argv, r.status, said)
		}
		if said != "" && (!strings.HasPrefix(said, "torno-init: ") || strings.Count(said, "\n") != 1) {
			t.Errorf("%.40q: said %q", test.argv, said)
		}
	}
}

func TestEnvironmentIsTheGivenOne(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{{"Z=1", "A= x\ty ", "EMPTY=", "EQUALS=a=b"}, nil} {
		b := newBox(t, "")
		b.file.Argv, b.file.Env = []string{env, "-0"}, given
		r := b.run(t)
		r.exits(t, 0)
		if want := strings.Join(append(given, ""), "\x00"); r.stdout != want {
			t.Errorf("the agent has %q, not %q", r.stdout, want)
		}
	}
}

// TestNothingIsInherited gives init what a careless engine might leave behind, and looks at the agent.
func TestNothingIsInherited(t *testing.T) {
	for name, fromStdout := range map[string]bool{"direct": false, "tee": true} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, `ls /proc/$$/fd
				read -r pid _ _ parent group session _ </proc/$$/stat
				echo parent $parent group $((group - pid)) session $((session - pid)) umask $(umask) in $(pwd)
				grep -E "open files|file size|core|processes" /proc/self/limits`)
			b.plan.Leak = true
			b.file.Umask = 0o027
			b.file.Rlimits = []runfile.Rlimit{
				{Name: "nofile", Value: 500}, {Name: "fsize", Value: 1 << 20}, {Name: "core", Value: 0}, {Name: "nproc", Value: 64},
			}
			if fromStdout {
				b.answer(1 << 16)
			}
			r := b.run(t)
			r.exits(t, 0)
			const want = "0 1 2 " +
				"parent 1 group 0 session 0 umask 0027 in /srv/ws " +
				"Max file size 1048576 1048576 bytes Max core file size 0 0 bytes " +
				"Max processes 64 64 processes Max open files 500 500 files"
			if got := strings.Join(strings.Fields(r.stdout), " "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestSignalsAreAtTheirDefaults uses no shell, which would set its own signals right.
func TestSignalsAreAtTheirDefaults(t *testing.T) {
	b := newBox(t, "")
	b.plan.Ignore = []int{1, 2, 3, 10, 13, 15, 17, 18, 20, 21, 22, 28, 40, 64}
	b.plan.Block = []int{1, 12, 14, 15, 17, 23, 28, 35, 63}
	b.file.Argv = []string{"grep", "-hE", "^(SigPnd|ShdPnd|SigBlk|SigIgn)", "/proc/self/status"}
	r := b.run(t)
	r.exits(t, 0)
	const none = "0000000000000000"
	want := "SigPnd: " + none + " ShdPnd: " + none + " SigBlk: " + none + " SigIgn: " + none
	if got := strings.Join(strings.Fields(r.stdout), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAgentIsShutOut also does to a process of the agent's own what it tries with init, so that a refusal means something.
func TestAgentIsShutOut(t *testing.T) {
	r := newBox(t, `sleep 1000 & own=$!
		for file in mem environ fd/0 maps cwd/. auxv; do
			for pid in $own 1; do (: <"/proc/$pid/$file") 2>/dev/null && echo $file of $((pid - own + 1)); done
		done; true`).run(t)
	r.exits(t, 0)
	if want := "mem of 1\nenviron of 1\nfd/0 of 1\nmaps of 1\ncwd/. of 1\nauxv of 1\n"; r.stdout != want {
		t.Errorf("the agent can open\n%s", r.stdout)
	}
}

func TestStandardInputIsTheAgents(t *testing.T) {
	b := newBox(t, "cat")
	b.stdin, b.file.Stdin = strings.NewReader("for the agent\n"), true
	r := b.run(t)
	r.exits(t, 0)
	if r.stdout != "for the agent\n" {
		t.Errorf("%q", r.stdout)
	}
}

func TestVersion(t *testing.T) {
	b := newBox(t, "")
	b.file.Argv = []string{runfile.Init, "version"} // as a launcher tries its way of starting sandboxes
	r := b.run(t)
	r.exits(t, 0)
	if r.stdout != "sandbox-init v9.8.7\n" {
		t.Errorf("%q", r.stdout)
	}
}

// TestDirectory enters directories inside and outside of mounts.
func TestDirectory(t *testing.T) {
	for _, dir := range []string{"/", ctx, ws, ws + "/sub/dir", "/usr/bin"} {
		b := newBox(t, "pwd -P")
		if err := os.MkdirAll(b.in("sub/dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.file.Dir = dir
		r := b.run(t)
		if r.exits(t, 0); r.stdout != dir+"\n" {
			t.Errorf("%q instead of %q", r.stdout, dir)
		}
	}
}

// TestMountsInMounts proves a workspace that lies inside a context, which holds a file that is a mount too.
func TestMountsInMounts(t *testing.T) {
	b := newBox(t, "cat ../file && pwd")
	if err := os.MkdirAll(b.context+"/deep/ws", 0o755); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/file"
	for _, name := range []string{file, b.context + "/deep/file"} {
		if err := os.WriteFile(name, []byte("in "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.plan.Binds[1].Target = ctx + "/deep/ws"
	b.plan.Binds = append(b.plan.Binds, bind{Source: file, Target: ctx + "/deep/file", ReadOnly: true})
	b.file.Mounts[1].Path = ctx + "/deep/ws"
	b.file.Mounts = append(b.file.Mounts, pinned(t, file, runfile.Mount{Path: ctx + "/deep/file"}))
	b.file.Dir = ctx + "/deep/ws"
	r := b.run(t)
	if r.exits(t, 0); r.stdout != "in "+file+ctx+"/deep/ws\n" {
		t.Errorf("%q", r.stdout)
	}
}
