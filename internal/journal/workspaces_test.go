package journal

import (
	"path/filepath"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/inode"
)

func workspaceOf(t *testing.T, id string, inodeNumber uint64) Workspace {
	t.Helper()
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		t.Fatal(err)
	}
	return Workspace{Outbox: "box", Subagent: subagent, Directory: inode.Directory{FileSystem: 1<<63 + 7, Inode: inodeNumber, Birth: 3}, Used: time.Unix(100, 0).UTC()}
}

// TestAWorkspaceIsItsDirectory: who made it stays with the directory, and not with its name.
func TestAWorkspaceIsItsDirectory(t *testing.T) {
	j := open4test(t, filepath.Join(t.TempDir(), "state", "journal.db"))
	made := workspaceOf(t, "s1", 1<<63+1)
	made.Made = true
	again := made
	again.Made, again.Used = false, time.Unix(200, 0).UTC()
	other := again
	other.Directory.Inode++
	born := again
	born.Directory.Birth++
	for _, step := range []struct {
		what  string
		begin Workspace
		made  bool
	}{
		{"its client has made it", made, true},
		{"the next run finds it", again, true},
		{"another directory has its name", other, false},
		{"it is there again, and nobody says who made it", again, false},
		{"its client has made one", made, true},
		{"one that was born later has its inode", born, false},
	} {
		if err := j.NoteWorkspace(t.Context(), step.begin); err != nil {
			t.Fatal(err)
		}
		all, err := j.Workspaces(t.Context(), "box")
		if err != nil || len(all) != 1 || all[0].Made != step.made || all[0].Directory != step.begin.Directory || !all[0].Used.Equal(step.begin.Used) {
			t.Errorf("%s: %+v, %v", step.what, all, err)
		}
	}
}

// TestAWorkspaceLeaves: from its last use to the end of its removal, also with a new one of the same subagent beside it.
func TestAWorkspaceLeaves(t *testing.T) {
	j := open4test(t, filepath.Join(t.TempDir(), "state", "journal.db"))
	ctx := t.Context()
	late, early := workspaceOf(t, "late", 1), workspaceOf(t, "early", 2)
	early.Made, early.Origin, early.Base = true, "/src", 77
	for _, err := range []error{
		j.NoteWorkspace(ctx, late), j.NoteWorkspace(ctx, early),
		j.LeaveWorkspace(ctx, "box", late.Subagent, 4096, time.Unix(300, 0)),
		j.LeaveWorkspace(ctx, "box", workspaceOf(t, "unknown", 3).Subagent, 1, time.Unix(300, 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := j.Workspaces(ctx, "box")
	if err != nil || len(all) != 2 || all[0].Subagent != early.Subagent || all[1].Bytes != 4096 || !all[1].Used.Equal(time.Unix(300, 0)) {
		t.Fatalf("%+v, %v", all, err)
	}
	going := LeavingWorkspace{Workspace: early, Name: ".gone"}
	next := workspaceOf(t, "early", 5)
	for _, err := range []error{j.PartWithWorkspace(ctx, going), j.NoteWorkspace(ctx, next), j.ForgetWorkspace(ctx, early)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	left, err := j.LeavingWorkspaces(ctx, "box")
	if err != nil || len(left) != 1 || left[0] != going {
		t.Errorf("%+v, %v", left, err)
	}
	if all, err = j.Workspaces(ctx, "box"); err != nil || len(all) != 2 {
		t.Errorf("the new one of the same subagent: %+v, %v", all, err)
	}
	if err := j.WorkspaceGone(ctx, going); err != nil {
		t.Fatal(err)
	}
	if left, err = j.LeavingWorkspaces(ctx, "box"); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}
