//go:build linux

package main_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/internal/runfile"
)

// Every box of these tables runs an agent that leaves a mark in the workspace and on both streams.
const marks = "echo ran; echo ran >&2; : >" + ws + "/ran"

type refusal struct {
	name   string
	change func(*testing.T, *box)
	says   string
}

// refuses runs the boxes and expects each to end before the agent has done anything.
func refuses(t *testing.T, why runfile.Failure, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBox(t, marks)
			test.change(t, b)
			r := b.run(t)
			line, rest, _ := strings.Cut(r.stderr, "\n")
			_, err := runfile.ParseFirstLine(line)
			var failed *runfile.NotStarted
			if !errors.As(err, &failed) || failed.Failure != why || !strings.Contains(failed.Sentence, test.says) {
				t.Errorf("%q; wanted %s: …%s…", line, why, test.says)
			}
			if r.status.ExitStatus() != runfile.FailedExit || rest != "" || r.stdout != "" {
				t.Errorf("status %#x, stdout %q, stderr goes on with %q", r.status, r.stdout, rest)
			}
			if _, err := os.Lstat(b.in("ran")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the agent's mark: %v", err)
			}
		})
	}
}

// TestMarks shows that the agent of the other tables does leave its marks when nothing is wrong.
func TestMarks(t *testing.T) {
	b := newBox(t, marks)
	r := b.run(t)
	if said := r.agentSaid(t); said != "ran\n" || r.stdout != "ran\n" || r.status.ExitStatus() != runfile.ExitFor(0) {
		t.Errorf("status %#x, stdout %q, stderr %q", r.status, r.stdout, said)
	}
	if _, err := os.Lstat(b.in("ran")); err != nil {
		t.Error(err)
	}
}

func TestRefusesItsRunFile(t *testing.T) {
	edit := func(old, replacement string) func(*testing.T, *box) {
		return func(_ *testing.T, b *box) {
			b.put = func(path string) error {
				data, err := runfile.Encode(b.file)
				if err != nil {
					return err
				}
				return os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o444)
			}
		}
	}
	put := func(put func(path string) error) func(*testing.T, *box) {
		return func(_ *testing.T, b *box) { b.put = put }
	}
	refuses(t, runfile.FailureRunFile, []refusal{
		{"no argument", func(_ *testing.T, b *box) { b.plan.Args = b.plan.Args[:1] }, "takes one argument"},
		{"two arguments", func(_ *testing.T, b *box) { b.plan.Args = append(b.plan.Args, "x") }, "takes one argument"},
		{"another nonce", func(_ *testing.T, b *box) { b.plan.Args[1] = "0123456789abcdeF" }, "made for another sandbox"},
		{"an empty nonce", func(_ *testing.T, b *box) { b.plan.Args[1] = "" }, "made for another sandbox"},
		{"an unknown field", edit(`{`, `{"privileged":true,`), `unknown field "privileged"`},
		{"another version", edit(`"version":1`, `"version":2`), "version is 2"},
		{"no file", put(func(string) error { return nil }), "no such file"},
		{"no JSON", put(func(p string) error { return os.WriteFile(p, []byte("nonsense"), 0o444) }), "invalid character"},
		{"an empty file", put(func(p string) error { return os.WriteFile(p, nil, 0o444) }), "EOF"},
		{"a file too big", put(func(p string) error { return os.WriteFile(p, make([]byte, runfile.MaxSize+1), 0o444) }), "may have"},
		{"a directory", put(func(p string) error { return os.Mkdir(p, 0o755) }), "not a regular file"},
		{"a link", put(func(p string) error { return os.Symlink("/etc/passwd", p) }), "symbolic links"},
		{"a FIFO", put(func(p string) error { return syscall.Mkfifo(p, 0o444) }), "not a regular file"},
	})
}

func TestRefusesToBePrivileged(t *testing.T) {
	refuses(t, runfile.FailureIdentity, []refusal{
		{"root", func(_ *testing.T, b *box) { b.plan.UID = 0 }, "root's user or group id"},
		{"root's group", func(_ *testing.T, b *box) { b.plan.GID = 0 }, "root's user or group id"},
		{"root's group among others", func(_ *testing.T, b *box) { b.plan.Groups = []int{12345, 0} }, "root's user or group id"},
		{"a capability", func(_ *testing.T, b *box) { b.plan.Capability = true }, "has a capability"},
		{"an inheritable capability", func(_ *testing.T, b *box) { b.plan.Inheritable = true }, "has a capability"},
		{"a bounding set", func(_ *testing.T, b *box) { b.plan.Bounding = true }, "bounding set"},
		{"new privileges", func(_ *testing.T, b *box) { b.plan.NewPrivs = true }, "no_new_privs"},
		{"another process 1", func(_ *testing.T, b *box) { b.plan.SharePIDs = true }, "not process 1"},
	})
}

func TestRefusesOtherMounts(t *testing.T) {
	expect := func(change func(*runfile.Mount)) func(*testing.T, *box) {
		return func(_ *testing.T, b *box) { change(&b.file.Mounts[1]) }
	}
	refuses(t, runfile.FailureMount, []refusal{
		{"another inode", expect(func(m *runfile.Mount) { m.Inode++ }), "and the host pinned device"},
		{"another device", expect(func(m *runfile.Mount) { m.Device++ }), "and the host pinned device"},
		{"nothing there", func(t *testing.T, b *box) {
			b.file.Mounts = append(b.file.Mounts, pinned(t, t.TempDir(), runfile.Mount{Path: "/srv/none"}))
		}, `mount "/srv/none"`},
		{"nothing mounted", func(_ *testing.T, b *box) { b.plan.Binds[0].Source = b.runDir }, "and the host pinned"},
		{"the workspace at both places", func(_ *testing.T, b *box) { b.plan.Binds[0].Source = b.workspace }, "and the host pinned"},
		{"a link", func(t *testing.T, b *box) {
			b.plan.Links = map[string]string{"/srv/link": ctx}
			b.file.Mounts[0].Path = "/srv/link"
		}, "is a link"},
		{"a link on the way", func(t *testing.T, b *box) {
			b.plan.Links = map[string]string{"/srv/link": "/srv"}
			b.file.Mounts[0].Path = "/srv/link/ctx"
		}, `"link": not a directory`},
		{"writable context", func(_ *testing.T, b *box) { b.plan.Binds[0].ReadOnly = false }, "writable and should be read-only"},
		{"read-only workspace", func(_ *testing.T, b *box) { b.plan.Binds[1].ReadOnly = true }, "read-only and should be writable"},
		{"devices and setuid", func(_ *testing.T, b *box) { b.plan.Binds[0].Hardened = false }, "not nosuid and nodev"},
	})
}

func TestRefusesWhatCannotBeSetUp(t *testing.T) {
	refuses(t, runfile.FailureSetup, []refusal{
		{"no directory", func(_ *testing.T, b *box) { b.file.Dir = ws + "/none" }, `directory "/srv/ws/none": "none": no such file`},
		{"a file as directory", func(t *testing.T, b *box) {
			b.plant(t, "file", "")
			b.file.Dir = ws + "/file"
		}, "not a directory"},
		{"a directory behind a link", func(t *testing.T, b *box) {
			if err := os.Symlink("/etc", b.in("link")); err != nil {
				t.Fatal(err)
			}
			b.file.Dir = ws + "/link"
		}, "not a directory"},
		{"a directory that may not be entered", func(_ *testing.T, b *box) { b.file.Dir = "/root" }, "permission denied"},
		{"a limit over the hard one", func(_ *testing.T, b *box) {
			b.file.Rlimits = []runfile.Rlimit{{Name: "nofile", Value: 1 << 40}}
		}, "limit nofile to 1099511627776"},
		{"no filter", func(_ *testing.T, b *box) { b.filter = nil }, "the filter of system calls: " + runfile.FilterPath + ": no such file"},
		{"a filter that the kernel does not take", func(_ *testing.T, b *box) { b.filter = make([]byte, 8) }, "invalid argument"},
		{"a filter that is cut off", func(_ *testing.T, b *box) { b.filter = b.filter[:len(b.filter)-1] }, "not a whole number of steps"},
		{"no room for handles", func(_ *testing.T, b *box) {
			b.answer(100).file.Rlimits = []runfile.Rlimit{{Name: "nofile", Value: 3}}
		}, "too many open files"},
	})
}
