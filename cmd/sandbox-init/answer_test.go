//go:build linux

package main_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/internal/runfile"
)

// read is the content of a file in the workspace that must be there.
func (b *box) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(b.in(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// holds checks what is in the workspace and below.
func (b *box) holds(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(b.workspace, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.workspace, path); rel != "." {
			got = append(got, rel)
		}
		return err
	})
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the workspace holds %q, not %q (%v)", got, want, err)
	}
}

func TestAnswerFromStandardOutput(t *testing.T) {
	random := make([]byte, 10_000_000)
	rand.Read(random)
	for name, output := range map[string][]byte{"binary": random, "short": []byte("no newline"), "empty": nil} {
		b := newBox(t, "cat output; exit 3").answer(int64(len(output)) + 1)
		b.plant(t, "output", string(output))
		r := b.run(t)
		r.exits(t, 3)
		if !bytes.Equal([]byte(r.stdout), output) {
			t.Errorf("%s: %d bytes came out", name, len(r.stdout))
		}
		if b.read(t, "answer.txt") != string(output) {
			t.Errorf("%s: another answer was written", name)
		}
		b.holds(t, "answer.txt", "output")
	}
}

func TestAnswerIsTheAgentsFile(t *testing.T) {
	b := newBox(t, "ls -A; echo answer").answer(100)
	b.file.Umask = 0o027
	r := b.run(t)
	r.exits(t, 0)
	if r.stdout != "answer\n" {
		t.Errorf("the agent saw %q in its workspace", r.stdout)
	}
	info, err := os.Lstat(b.in("answer.txt"))
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode() != 0o640 || int(stat.Uid) != b.plan.UID || stat.Nlink != 1 {
		t.Errorf("mode %v, uid %d, %d links", info.Mode(), stat.Uid, stat.Nlink)
	}
}

func TestAnswerIsCut(t *testing.T) {
	for limit, says := range map[int64]string{9: "torno-init: the answer was cut at 9 bytes; all 10 bytes of the output are in \"/srv/ws/answer.txt.whole\"\n", 10: ""} {
		r := newBox(t, "printf 01234; printf 56789").answer(limit)
		res := r.run(t)
		if said := res.agentSaid(t); said != says || res.stdout != "0123456789" || res.status.ExitStatus() != runfile.ExitFor(0) {
			t.Errorf("limit %d: status %#x, stdout %q, said %q", limit, res.status, res.stdout, said)
		}
		if got := r.read(t, "answer.txt"); got != "0123456789"[:limit] {
			t.Errorf("limit %d: the answer is %q", limit, got)
		}
	}
}

// TestStaleAnswer has something at the answer's place before the run. The agent writes no answer, so what is there
// afterwards is what init did.
func TestStaleAnswer(t *testing.T) {
	tests := map[string]struct {
		plant func(*box) error
		says  string
		holds []string
	}{
		"none":              {func(*box) error { return nil }, "", nil},
		"a file":            {func(b *box) error { return os.WriteFile(b.in("answer.txt"), nil, 0o600) }, "", []string{"answer.txt.previous"}},
		"a link":            {func(b *box) error { return os.Symlink("/etc/passwd", b.in("answer.txt")) }, "", []string{"answer.txt.previous"}},
		"a link to nowhere": {func(b *box) error { return os.Symlink("none", b.in("answer.txt")) }, "", []string{"answer.txt.previous"}},
		"a FIFO":            {func(b *box) error { return syscall.Mkfifo(b.in("answer.txt"), 0o600) }, "", []string{"answer.txt.previous"}},
		"a directory":       {func(b *box) error { return os.Mkdir(b.in("answer.txt"), 0o700) }, "a directory has its name", []string{"answer.txt"}},
		"no room for the old": {func(b *box) error {
			return errors.Join(os.WriteFile(b.in("answer.txt"), nil, 0o600), os.Mkdir(b.in("answer.txt.previous"), 0o700))
		}, "", []string{"answer.txt.previous"}},
		"an older one": {func(b *box) error {
			return errors.Join(os.WriteFile(b.in("answer.txt"), nil, 0o600), os.WriteFile(b.in("answer.txt.previous"), nil, 0o600))
		}, "", []string{"answer.txt.previous"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, "exit 1")
			b.file.Answer = runfile.Answer{Path: ws + "/answer.txt"}
			if err := test.plant(b); err != nil {
				t.Fatal(err)
			}
			r := b.run(t)
			said := r.agentSaid(t)
			if r.status.ExitStatus() != 1 || !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
				t.Errorf("status %#x, said %q", r.status, said)
			}
			b.holds(t, test.holds...)
		})
	}
}

func TestStaleAnswerIsKept(t *testing.T) {
	b := newBox(t, "cat answer.txt.previous").answer(100)
	b.plant(t, "answer.txt", "old")
	b.run(t).exits(t, 0)
	if b.read(t, "answer.txt") != "old" || b.read(t, "answer.txt.previous") != "old" {
		t.Error("the agent could not read the old answer, or it is gone")
	}
}

// TestAnswerBelowTheWorkspace makes the directories that are missing, and follows no link that is there.
func TestAnswerBelowTheWorkspace(t *testing.T) {
	b := newBox(t, "echo new").answer(100)
	b.file.Answer.Path = ws + "/a/b/answer.txt"
	b.run(t).exits(t, 0)
	if b.read(t, "a/b/answer.txt") != "new\n" {
		t.Error("no answer")
	}
	b.holds(t, "a", "a/b", "a/b/answer.txt")
}

// TestLinksAreNotFollowed plants links where the answer goes: before the run, and by the agent while it runs.
func TestLinksAreNotFollowed(t *testing.T) {
	elsewhere := t.TempDir()
	if err := os.Chmod(elsewhere, 0o777); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(elsewhere, "answer.txt")
	if err := os.WriteFile(target, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o666); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		before string // where a link "dir" points before the run
		script string
		path   string
		says   string
	}{
		"directory before":   {elsewhere, "true", ws + "/dir/answer.txt", `"dir": not a directory`},
		"directory by agent": {"", "rmdir dir; ln -s " + elsewhere + " dir", ws + "/dir/answer.txt", `"dir": not a directory`},
		"file by agent":      {"", "ln -s " + target + " answer.txt", ws + "/answer.txt", `answer.txt", a link; the answer is`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.script+" && echo mine").answer(100)
			b.file.Answer.Path = test.path
			if test.before != "" {
				if err := os.Symlink(test.before, b.in("dir")); err != nil {
					t.Fatal(err)
				}
			}
			r := b.run(t)
			if said := r.agentSaid(t); r.stdout != "mine\n" || !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
				t.Errorf("stdout %q, said %q", r.stdout, said)
			}
			if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
				t.Errorf("behind the link is %q now (%v)", data, err)
			}
			if test.path == ws+"/answer.txt" && b.read(t, "answer.txt") != "mine\n" {
				t.Error("the link was not replaced by the answer")
			}
		})
	}
}

// TestAnswerThatCannotBeWritten must not cost the agent its output or its exit code, and leaves nothing half-written.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	const script = "head -c 300000 /dev/zero; exit 7"
	tests := map[string]struct {
		change func(*testing.T, *box)
		script string
		says   string
		holds  []string
	}{
		"a full disk":           {smallDisk, script, "no space left on device", nil},
		"a limit of file sizes": {smallFiles, script, "file too large", nil},
		"a directory":           {nil, "mkdir answer.txt; " + script, "is a directory", []string{"answer.txt"}},
		"no right to write":     {nil, "chmod 555 .; " + script, "permission denied", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.script).answer(1 << 20)
			if test.change != nil {
				test.change(t, b)
			}
			r := b.run(t)
			said := r.agentSaid(t)
			if !strings.Contains(said, `torno-init: the answer was not written to "/srv/ws/answer.txt": `) || !strings.Contains(said, test.says) {
				t.Errorf("said %q", said)
			}
			if len(r.stdout) != 300_000 || r.status.ExitStatus() != 7 {
				t.Errorf("status %#x, %d bytes came out", r.status, len(r.stdout))
			}
			b.holds(t, test.holds...)
		})
	}
}

func smallDisk(t *testing.T, b *box) {
	t.Helper()
	if err := syscall.Mount("tmpfs", b.workspace, "tmpfs", 0, "size=64k,mode=777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(b.workspace, 0); err != nil {
			t.Error(err)
		}
	})
	b.file.Mounts[1] = pinned(t, b.workspace, b.file.Mounts[1])
}

func smallFiles(_ *testing.T, b *box) {
	b.file.Rlimits = []runfile.Rlimit{{Name: "fsize", Value: 1000}}
}

// TestAnswerWithoutAListener closes standard output from outside while the agent goes on. The answer is still whole.
func TestAnswerWithoutAListener(t *testing.T) {
	b := newBox(t, "echo first; until [ -e go ]; do :; done; head -c 300000 /dev/zero; exit 2").answer(1 << 20)
	r := b.start(t)
	r.stdout.until(t, "first\n")
	r.stdout.close(t)
	b.plant(t, "go", "")
	r.wait(t).exits(t, 2)
	if got := len(b.read(t, "answer.txt")); got != 300_006 {
		t.Errorf("the answer has %d bytes", got)
	}
}
