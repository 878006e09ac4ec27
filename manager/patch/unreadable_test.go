package patch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestARecordThatCannotBeReadIsNotReplaced: the client finds a directory or a loop in the record's place.
func TestARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	for name, block := range map[string]func(string) error{
		"a directory": func(at string) error { return os.Mkdir(at, 0o700) },
		"a loop":      func(at string) error { return os.Symlink(filepath.Base(at), at) },
	} {
		for _, file := range []string{baseName, askedName} {
			t.Run(name+" as "+file, func(t *testing.T) {
				s := newScene(t, map[string]string{"a": "a\n"})
				s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s1", "r1", "answer.txt"))
				at := filepath.Join(s.store.path, "s1", file)
				kept := read(t, at)
				s.must(os.Rename(at, at+".aside"))
				s.must(block(at))
				host := &looking{dir: s.origin, meanwhile: func() {}}
				err := s.store.NoteGiven(t.Context(), host, "s1", s.workspace, s.open(s.workspace))
				if err == nil || errors.Is(err, ErrNoBase) || host.looks != 0 {
					t.Errorf("%v, and the host was asked %d times", err, host.looks)
				}
				if now, err := os.ReadFile(at + ".aside"); err != nil || string(now) != kept {
					t.Fatalf("the record is gone: %v", err)
				}
				s.must(os.Remove(at))
				s.must(os.Rename(at+".aside", at))
				s.must(s.store.NoteGiven(t.Context(), host, "s1", s.workspace, s.open(s.workspace)))
				if host.looks != 0 {
					t.Error("it is written again when it can be read")
				}
			})
		}
	}
}

// TestAWorkspaceThatCannotBeLookedAt: a client that cannot look at a workspace does not take it for another one, and
// keeps its record.
func TestAWorkspaceThatCannotBeLookedAt(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a\n"})
	at := filepath.Join(s.store.path, "s1", baseName)
	kept := read(t, at)
	shut := s.open(s.workspace)
	s.must(shut.Close()) // each look at it fails
	host := &looking{dir: s.origin, meanwhile: func() {}}
	if err := s.store.NoteGiven(t.Context(), host, "s1", s.workspace, shut); err == nil || host.looks != 0 {
		t.Errorf("%v, and the host was asked %d times", err, host.looks)
	}
	if now, err := os.ReadFile(at); err != nil || string(now) != kept {
		t.Errorf("the record is gone: %v", err)
	}
}

// TestTheParentsOwnDirectoryIsNoCopy: a client that takes it for the child's workspace, because another profile is first
// on offer now, does not replace the record of the copy.
func TestTheParentsOwnDirectoryIsNoCopy(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a\n"})
	at := filepath.Join(s.store.path, "s1", baseName)
	kept := read(t, at)
	host := &looking{dir: s.origin, meanwhile: func() {}}
	s.must(s.store.NoteGiven(t.Context(), host, "s1", s.origin, s.open(s.origin)))
	if now, err := os.ReadFile(at); err != nil || string(now) != kept {
		t.Errorf("the record is another one: %v", err)
	}
}

// TestRequestsThatCannotBeReadAreNotReplaced: they say which files are answers.
func TestRequestsThatCannotBeReadAreNotReplaced(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a\n"})
	ask := func(request, answer string) error {
		return Asked(s.dir+"/state", s.dir+"/outbox", "s1", request, answer)
	}
	s.must(ask("r1", "first.txt"))
	at := filepath.Join(s.store.path, "s1", askedName)
	s.must(os.Rename(at, at+".aside"))
	s.must(os.Symlink(askedName, at)) // a loop: not missing, and not damaged
	if err := ask("r2", "second.txt"); err == nil {
		t.Error("a record that cannot be read was replaced")
	}
	if info, err := os.Lstat(at); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("there is %v, %v", info, err)
	}
}
