package collect

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/test/missing"
	"torno/test/wait"
	"torno/watcher/hang"
	"torno/watcher/workspace"
)

// TestAgesGoByTheTimeThatIsBelieved, and not by the clock; so do the times of use.
func TestAgesGoByTheTimeThatIsBelieved(t *testing.T) {
	s := newScene(t)
	s.rule.Age = 30 * 24 * time.Hour
	believed := time.Now().Add(-365 * 24 * time.Hour) // the clock has jumped
	s.Now = func() time.Time { return believed }
	s.must(s.Journal.NoteWorkspace(t.Context(), s.w))
	s.End(t.Context(), "box", s.w.Subagent, 0)
	for _, step := range []struct {
		wait time.Duration
		over bool
	}{{s.rule.Age, false}, {time.Hour, true}} {
		believed = believed.Add(step.wait)
		found, err := s.look(t.Context(), Ask{DryRun: true})
		if err != nil || len(found) != 1 || (found[0].Over != "") != step.over {
			t.Errorf("%s later it says %+v, %v", step.wait, found, err)
		}
	}
}

// scene is an outbox with a workspace in it, and the journal.
type scene struct {
	*testing.T
	*box
	place string
	w     journal.Workspace
}

func newScene(t *testing.T) *scene {
	t.Helper()
	top := t.TempDir()
	s := &scene{T: t, place: filepath.Join(top, Place)}
	s.must(os.MkdirAll(filepath.Join(s.place, "s1"), 0o755))
	s.must(os.WriteFile(filepath.Join(s.place, "s1", "file"), nil, 0o644))
	dir, err := delegation.OpenDir(top)
	s.must(err)
	t.Cleanup(func() { dir.Close() })
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "state", "journal.db"))
	s.must(err)
	t.Cleanup(func() { j.Close() })
	log := slog.New(slog.DiscardHandler)
	c := New(Ports{Journal: j, Hangs: hang.New(workspace.Calls, log), Now: time.Now, Log: log, Reads: func(string) bool { return false }},
		func() []Outbox { return []Outbox{{ID: "box", Name: "main", Dir: dir}} }, Rule{Which: Made})
	s.box = c.boxes()[0]
	s.Take = func(context.Context, Outbox, delegation.SubagentID) (func(), error) { return func() {}, nil }
	s.w = journal.Workspace{Outbox: "box", Made: true, Used: time.Unix(1, 0)}
	s.w.Subagent, err = delegation.ParseSubagentID("s1")
	s.must(err)
	s.w.Directory, err = s.identityAt("s1")
	s.must(err)
	s.must(j.NoteWorkspace(t.Context(), s.w))
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// names are those in the place of workspaces.
func (s *scene) names() string {
	s.Helper()
	entries, err := os.ReadDir(s.place)
	s.must(err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// TestWhatIsExchangedInTheLastMomentComesBack: a directory that takes the place of a workspace between the last look and the rename.
func TestWhatIsExchangedInTheLastMomentComesBack(t *testing.T) {
	s := newScene(t)
	s.must(os.Rename(filepath.Join(s.place, "s1"), filepath.Join(s.place, "moved")))
	s.must(os.Mkdir(filepath.Join(s.place, "s1"), 0o755))
	s.must(os.WriteFile(filepath.Join(s.place, "s1", "precious"), nil, 0o644))
	released := false
	if err := s.part(t.Context(), s.w, func() { released = true }); !errors.Is(err, errOther) || !released {
		t.Errorf("it says %v; released: %t", err, released)
	}
	s.removeAll(t.Context())
	if names := s.names(); names != "moved s1" {
		t.Errorf("there are %s", names)
	}
	for _, path := range []string{"s1/precious", "moved/file"} {
		if _, err := os.Stat(filepath.Join(s.place, path)); err != nil {
			t.Error(err)
		}
	}
	left, err := s.Journal.LeavingWorkspaces(t.Context(), "box")
	if err != nil || len(left) != 0 {
		t.Errorf("the journal has %v, %v", left, err)
	}
}

// TestWhatWasPutAsideUnseenComesBack: a watcher dies when it has put aside what took the workspace's place, and something else takes that name
// meanwhile. It comes back as soon as its name is free, and the journal knows of it until then.
func TestWhatWasPutAsideUnseenComesBack(t *testing.T) {
	for name, taken := range map[string]bool{"its name is free": false, "its name is taken": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			leaving := journal.LeavingWorkspace{Workspace: s.w, Name: leavingPrefix + "x"}
			s.must(s.Journal.PartWithWorkspace(t.Context(), leaving))
			s.must(os.Rename(filepath.Join(s.place, "s1"), filepath.Join(s.place, "moved")))
			s.must(os.Mkdir(filepath.Join(s.place, leaving.Name), 0o755))
			s.must(os.WriteFile(filepath.Join(s.place, leaving.Name, "precious"), nil, 0o644))
			if taken {
				s.must(os.Mkdir(filepath.Join(s.place, "s1"), 0o755))
				s.removeAll(t.Context())
				if left, err := s.Journal.LeavingWorkspaces(t.Context(), "box"); err != nil || len(left) != 1 || s.names() != leaving.Name+" moved s1" {
					t.Errorf("the journal has %v, %v; there are %s", left, err, s.names())
				}
				s.must(os.Remove(filepath.Join(s.place, "s1")))
			}
			s.removeAll(t.Context())
			if _, err := os.Stat(filepath.Join(s.place, "s1", "precious")); err != nil || s.names() != "moved s1" {
				t.Errorf("%v; there are %s", err, s.names())
			}
			if left, err := s.Journal.LeavingWorkspaces(t.Context(), "box"); err != nil || len(left) != 0 {
				t.Errorf("the journal has %v, %v", left, err)
			}
		})
	}
}

// TestACopyThatIsKeptIsACopyStill: a watcher dies when the journal has that a workspace leaves, before it has its other name.
func TestACopyThatIsKeptIsACopyStill(t *testing.T) {
	s := newScene(t)
	s.w.Origin, s.w.Base = "/src", 77
	s.must(s.Journal.NoteWorkspace(t.Context(), s.w))
	s.must(s.Journal.PartWithWorkspace(t.Context(), journal.LeavingWorkspace{Workspace: s.w, Name: leavingPrefix + "x"}))
	s.removeAll(t.Context())
	kept, known, err := s.Journal.WorkspaceOf(t.Context(), s.w.Outbox, s.w.Subagent)
	if err != nil || !known || kept.Origin != s.w.Origin || kept.Base != s.w.Base || s.names() != "s1" {
		t.Errorf("%+v, %t, %v; there are %s", kept, known, err, s.names())
	}
}

// TestANameIsTakenWhileItIsPutBack by a parent that makes it anew whenever it is free.
func TestANameIsTakenWhileItIsPutBack(t *testing.T) {
	for end := time.Now().Add(wait.Patience); ; {
		s := newScene(t)
		own := filepath.Join(s.place, "s1")
		s.must(os.Rename(own, filepath.Join(s.place, "moved")))
		s.must(os.Mkdir(own, 0o755))
		s.must(os.WriteFile(filepath.Join(own, "precious"), nil, 0o644))
		over, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-over:
					return
				default:
					_ = os.Mkdir(own, 0o755) // it is there most of the time
				}
			}
		}()
		err := s.part(t.Context(), s.w, func() {})
		close(over)
		<-stopped
		if !errors.Is(err, errOther) {
			t.Fatalf("it says %v", err)
		}
		if _, err := os.Stat(filepath.Join(own, "precious")); err == nil && time.Now().Before(end) {
			continue // the parent was too slow
		}
		s.must(os.Remove(own))
		s.removeAll(t.Context())
		if _, err := os.Stat(filepath.Join(own, "precious")); err != nil {
			t.Errorf("%v; there are %s", err, s.names())
		}
		return
	}
}

// TestWithoutABirthNothingIsRemoved: ext4 gives a new directory the inode of one that was removed just now. Where the file system notes no births,
// as NFS and ext4 with small inodes, that directory looks like the workspace that was there before, and is a parent's own.
func TestWithoutABirthNothingIsRemoved(t *testing.T) {
	s := newScene(t)
	s.rule.Age = time.Nanosecond
	precious := filepath.Join(s.place, "s1", "precious")
	s.must(os.WriteFile(precious, nil, 0o644))
	s.w.Directory.Birth = 0
	s.must(s.Journal.NoteWorkspace(t.Context(), s.w))
	found, err := s.look(t.Context(), Ask{})
	if err != nil || len(found) != 1 || found[0].Gone || !strings.Contains(found[0].Kept, "file system") {
		t.Errorf("it says %+v, %v", found, err)
	}
	s.must(s.Journal.PartWithWorkspace(t.Context(), journal.LeavingWorkspace{Workspace: s.w, Name: leavingPrefix + "x"}))
	s.must(os.Rename(filepath.Join(s.place, "s1"), filepath.Join(s.place, leavingPrefix+"x")))
	s.removeAll(t.Context())
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// TestTheJournalHasItFirst: where it takes nothing, nothing is touched.
func TestTheJournalHasItFirst(t *testing.T) {
	s := newScene(t)
	s.must(s.Journal.Close())
	if err := s.part(t.Context(), s.w, func() {}); err == nil {
		t.Error("it was parted with without the journal")
	}
	if names := s.names(); names != "s1" {
		t.Errorf("there are %s", names)
	}
}

// TestAHungFileSystemHoldsOneLook: a call that does not return is left behind, and what it keeps from runs it keeps until it returns.
func TestAHungFileSystemHoldsOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		dir, err := delegation.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		c := New(Ports{Hangs: hang.New(workspace.Calls, log), Log: log}, func() []Outbox { return []Outbox{{ID: "box", Dir: dir}} }, Rule{})
		b, back := c.boxes()[0], make(chan struct{})
		begin := time.Now()
		for range hang.Most {
			if _, err := b.far(context.Background(), func() (inode.Directory, error) { <-back; return inode.Directory{}, nil }); !errors.Is(err, workspace.ErrHangs) {
				t.Errorf("it says %v", err)
			}
		}
		if took := time.Since(begin); took > hang.Most*2*hangTime {
			t.Errorf("it took %s", took)
		}
		if _, err := b.far(context.Background(), func() (inode.Directory, error) { t.Error("another call is made"); return inode.Directory{}, nil }); !errors.Is(err, workspace.ErrHangs) {
			t.Errorf("it says %v", err)
		}
		close(back)
		synctest.Wait()
	})
}

// TestACopierHasNoGroupOfItsDirectory: a parent gives workspaces to a group that it is not in, and would read that group's files.
func TestACopierHasNoGroupOfItsDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "to give files to others takes root")
	}
	top, err := os.MkdirTemp("", "collect") // others may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	const parent = 1_999_999_999
	for _, group := range []int{0, 1_999_999_998, parent} {
		place, file := filepath.Join(top, "workspaces"), filepath.Join(top, "file")
		if err := errors.Join(os.Chmod(top, 0o755), os.MkdirAll(place, 0o755), os.Chown(place, parent, group), os.WriteFile(file, nil, 0o640), os.Chown(file, 0, group)); err != nil {
			t.Fatal(err)
		}
		dir, err := os.Open(place)
		if err != nil {
			t.Fatal(err)
		}
		who, err := userOf(dir)
		if err := errors.Join(err, dir.Close()); err != nil {
			t.Fatal(err)
		}
		err = who.Do(func() error {
			_, err := os.ReadFile(file)
			return err
		})
		if mine := group == parent; mine != (err == nil) || who.UID != parent {
			t.Errorf("group %d: %+v reads the file: %v", group, who, err)
		}
	}
}
