package run

import (
	"errors"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/workspace"
)

// lyingIn is a workspace in these directories, the innermost first.
type lyingIn struct {
	workspace.Directory
	above []sandbox.Directory
}

func (l lyingIn) Above() ([]sandbox.Directory, error) { return l.above, nil }

func dirs(inodes ...uint64) (above []sandbox.Directory) {
	for _, ino := range inodes {
		above = append(above, sandbox.Directory{Device: 1, Inode: ino})
	}
	return above
}

// startingIn is a run of the outbox main that has its workspace and has not looked at the others yet.
func (runs *Runs) startingIn(t *testing.T, name string, inodes ...uint64) *runner {
	t.Helper()
	return runs.startingOf(t, "main", name, inodes...)
}

func (runs *Runs) startingOf(t *testing.T, outbox, name string, inodes ...uint64) *runner {
	t.Helper()
	id, err := delegation.ParseSubagentID(name)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := delegation.ParseRequestID("r-" + name)
	if err != nil {
		t.Fatal(err)
	}
	key := sandbox.RunKey{Outbox: outbox, Subagent: id, Request: asked, Attempt: 1}
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Workspace: true}}}
	r := runs.newRun(Request{Key: key, Spec: spec}, spec, deaf{})
	r.workplace.held = workspace.Hold(lyingIn{above: dirs(inodes...)}, dirs(inodes...))
	runs.own(r.Run)
	runs.claims.hold(r.Run, r.workplace.held)
	return r
}

// TestOfTwoThatStartAtOnceOneWins: a parent has moved one workspace into the other one since both runs were let in, and each
// sees the other. The run that was admitted first wins, whichever looks first.
func TestOfTwoThatStartAtOnceOneWins(t *testing.T) {
	for _, laterFirst := range []bool{false, true} {
		runs := runsOf(t)
		outer, inner := runs.startingIn(t, "outer", 2, 1), runs.startingIn(t, "inner", 3, 2, 1)
		first, second := outer, inner
		if laterFirst {
			first, second = inner, outer
		}
		refused := map[*runner]*delegation.Refusal{first: runs.claims.movedTogether(first.Run, first.workplace.held)}
		refused[second] = runs.claims.movedTogether(second.Run, second.workplace.held)
		if refused[outer] != nil || refused[inner] == nil || refused[inner].Code != delegation.CodeWorkspaceBusy {
			t.Errorf("the later one looks first: %t; the earlier one gets %v, the later one %v", laterFirst, refused[outer], refused[inner])
		}
		runs.disown(outer.Run)
		runs.disown(inner.Run)
	}
}

// TestARunThatHasItsWorkspaceKeepsIt: a run that was admitted earlier and looks later is refused.
func TestARunThatHasItsWorkspaceKeepsIt(t *testing.T) {
	runs := runsOf(t)
	earlier := runs.startingIn(t, "earlier", 2, 1)
	runs.claims.hold(earlier.Run, nil)
	later := runs.startingIn(t, "later", 3, 2, 1)
	if refusal := runs.claims.movedTogether(later.Run, later.workplace.held); refusal != nil {
		t.Fatal("the only one is refused:", refusal)
	}
	runs.claims.hold(earlier.Run, earlier.workplace.held)
	if refusal := runs.claims.movedTogether(earlier.Run, earlier.workplace.held); refusal == nil {
		t.Error("two runs have nested workspaces")
	}
	runs.disown(earlier.Run)
	runs.disown(later.Run)
}

// hidden is a workspace of which nothing can tell what lies above it.
type hidden struct{ workspace.Directory }

func (hidden) Above() ([]sandbox.Directory, error) { return nil, errors.New("its name is too long") }

// TestAWorkspaceThatWasMovedOutOfSightIsInTheWay: its parent has moved it so deep that it cannot be told what lies above it.
func TestAWorkspaceThatWasMovedOutOfSightIsInTheWay(t *testing.T) {
	runs := runsOf(t)
	deep := runs.startingIn(t, "deep", 2, 1)
	if refusal := runs.claims.movedTogether(deep.Run, deep.workplace.held); refusal != nil {
		t.Fatal("the only one is refused:", refusal)
	}
	runs.claims.hold(deep.Run, workspace.Hold(hidden{}, nil))
	later := runs.startingIn(t, "later", 3, 1)
	if refusal := runs.claims.movedTogether(later.Run, later.workplace.held); refusal == nil || refusal.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("a run that may work in the same directory is let in: %v", refusal)
	}
	elsewhere := runs.startingOf(t, "another", "later", 4, 1)
	if refusal := runs.claims.movedTogether(elsewhere.Run, elsewhere.workplace.held); refusal != nil {
		t.Errorf("one parent keeps the runs of all others out: %v", refusal)
	}
	for _, r := range []*runner{deep, later, elsewhere} {
		runs.disown(r.Run)
	}
}

// TestARefusedRunIsInNobodysWay: of three in a row, the one in the middle loses to the first, and the last one need not lose to it.
func TestARefusedRunIsInNobodysWay(t *testing.T) {
	runs := runsOf(t)
	first, middle, last := runs.startingIn(t, "first", 4, 2, 1), runs.startingIn(t, "middle", 2, 1), runs.startingIn(t, "last", 5, 2, 1)
	if refusal := runs.claims.movedTogether(first.Run, first.workplace.held); refusal != nil {
		t.Error("the first one:", refusal)
	}
	if refusal := runs.claims.movedTogether(last.Run, last.workplace.held); refusal != nil {
		t.Error("the last one:", refusal)
	}
	if refusal := runs.claims.movedTogether(middle.Run, middle.workplace.held); refusal == nil {
		t.Error("the one in the middle has a workspace that holds two others")
	}
	for _, r := range []*runner{first, middle, last} {
		runs.disown(r.Run)
	}
}
