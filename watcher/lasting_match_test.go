package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/watcher/outbox"
)

// replace starts the desk's watcher, as a person does by hand, with an empty directory in the place of the outbox's own.
func (d *desk) replace() {
	d.Helper()
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".first"), os.MkdirAll(filepath.Join(d.outbox, "workspaces"), 0o755)))
	d.lead("main", d.outbox)
	d.config.Outboxes[0].Remade = true
	d.open()
}

// reopens waits until the watcher asks for all outboxes to be opened anew.
func (d *desk) reopens() {
	d.Helper()
	d.eventually("it asks for the outboxes to be opened anew", func() bool {
		select {
		case <-d.watcher.Reopen():
			return true
		default:
			return false
		}
	})
}

// TestAnotherDirectoryComesToUnfinishedRuns: the request of one lies in the directory that left. An operator has to say what is to become of it.
func TestAnotherDirectoryComesToUnfinishedRuns(t *testing.T) {
	d := newDesk(t, nil)
	d.response(d.submit(ask{id: "before", task: "echo before"}))
	d.stop()
	d.replace()
	release := d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	d.pause()
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".second"), os.Rename(d.outbox+".first", d.outbox)))
	d.lead("main", d.outbox)
	d.open()
	if r := d.latest("running"); r.State != delegation.StateRunning {
		t.Errorf("the run is %s, %s", r.State, r.Reason)
	}
	d.pause()
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".first"), os.Rename(d.outbox+".second", d.outbox)))
	d.lead("main", d.outbox)
	d.open()
	release()
	d.want(d.response(running), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// looked has a watcher that does not run decide which outboxes these are, whose directories have the given numbers.
func (d *desk) looked(all []outbox.Settings, here ...inode.Directory) *Watcher {
	d.Helper()
	d.config.Outboxes = all
	w := New(d.config)
	d.Cleanup(func() { w.endLife() })
	d.must(outbox.Identify(d.Context(), d.config.Journal, w.boxes, func(box *outbox.Outbox) (inode.Directory, error) { return here[slices.Index(w.boxes, box)], nil }))
	return w
}

// ids are the outboxes that are served, "" for an outbox that is not.
func ids(w *Watcher) (all []string) {
	for _, box := range w.boxes {
		if box.Leads() != nil {
			all = append(all, "")
			continue
		}
		all = append(all, box.ID)
	}
	return all
}

// TestDirectoriesThatLookAlike, as copies of a disk do, and directories on file systems without a number. Their names decide, then
// their paths. A directory that neither tells waits for the operator, and no other outbox does for it.
func TestDirectoriesThatLookAlike(t *testing.T) {
	for name, alike := range map[string]inode.Directory{"copies": {FileSystem: 1, Inode: 2, Birth: 3}, "without a number": {Inode: 1}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.stop()
			d.state = filepath.Join(t.TempDir(), "state")
			d.takeJournal()
			apart := inode.Directory{FileSystem: 7, Inode: 8, Birth: 9}
			one, two, three := d.settings("one", d.newOutbox("1")), d.settings("two", d.newOutbox("2")), d.settings("three", d.newOutbox("3"))
			as := func(o outbox.Settings, name string) outbox.Settings { o.Policy.Outbox = name; return o }

			w := d.looked([]outbox.Settings{one, two, three}, alike, alike, apart)
			first := ids(w)
			if first[0] == "" || first[1] != "" || first[2] == "" {
				t.Fatalf("at first sight they are %q", first)
			}
			if text := w.boxes[1].Leads().Error(); !strings.Contains(text, "outbox one") || !strings.Contains(text, "accept two --new") || strings.Contains(text, "--same") {
				t.Errorf("it says: %s", text)
			}
			if _, err := w.accept(t.Context(), w.boxes[1], control.Same); err == nil {
				t.Error("it is accepted as an outbox that is not known")
			}
			accepted, err := w.accept(t.Context(), w.boxes[1], control.New)
			d.must(err)
			all := []string{first[0], accepted.ID, first[2]}
			same := func(what string, w *Watcher, want ...string) {
				t.Helper()
				if got := ids(w); strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("%s: they are %q, want %q", what, got, want)
				}
			}
			same("by name", d.looked([]outbox.Settings{one, two, three}, alike, alike, apart), all...)
			same("by name, in another order", d.looked([]outbox.Settings{three, two, one}, apart, alike, alike), all[2], all[1], all[0])
			same("one alone", d.looked([]outbox.Settings{two}, alike), all[1])
			same("by path", d.looked([]outbox.Settings{as(one, "uno"), as(two, "due"), three}, alike, alike, apart), all...)
			same("by nothing", d.looked([]outbox.Settings{as(two, "x"), d.settings("y", d.newOutbox("4")), three}, alike, alike, apart), all[1], "", all[2])
		})
	}
}

// TestACopyOfAnotherOutboxInThePlaceOfOne: the outbox whose directory it took keeps its runs.
func TestACopyOfAnotherOutboxInThePlaceOfOne(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	_, running := d.answered()
	d.pause()
	id, copied := d.boxOf("main"), d.newOutbox("copied")
	j, err := journal.Open(t0(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	alike := inode.Directory{FileSystem: 1, Inode: 2, Birth: 3}
	d.must(j.KeepOutboxes(t0(), []journal.Outbox{{ID: "copied", Name: "copied", Path: copied, Directory: alike}}))
	d.config.Journal = j
	w := d.looked([]outbox.Settings{d.settings("copied", copied), d.settings("main", d.newOutbox("other"))}, alike, alike)
	if got := ids(w); got[0] != "copied" || got[1] != "" || w.boxAside(id) == nil {
		t.Errorf("they are %q, and the runs of %s would be ended", got, id)
	}
	d.must(j.Close())
	d.lead("main", d.outbox)
	d.open()
	d.goesOn(release, running)
}

// boxOf is the id of the outbox of a name, while no watcher runs.
func (d *desk) boxOf(name string) string {
	d.Helper()
	j, err := journal.Open(t0(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	defer func() { d.must(j.Close()) }()
	return d.boxIn(j, name)
}

// TestTwoDirectoriesThatLookAlikeAreExchanged: the watcher's own word in them tells, and neither is served until an operator has decided. Then
// what lies there may have run as the other's.
func TestTwoDirectoriesThatLookAlikeAreExchanged(t *testing.T) {
	d := newDesk(t, nil)
	alike := inode.Directory{FileSystem: 1, Inode: 2, Birth: 3}
	other := d.newOutbox("other")
	one, two := d.settings("main", d.outbox), d.settings("other", other)
	d.stop()
	d.takeJournal()
	id := d.boxIn(d.config.Journal, "main")
	d.must(d.config.Journal.KeepOutboxes(t0(), []journal.Outbox{
		{ID: id, Name: "main", Path: d.outbox, Directory: alike}, {ID: "other", Name: "other", Path: other, Directory: alike},
	}))
	if got := ids(d.looked([]outbox.Settings{one, two}, alike, alike)); got[0] != id || got[1] != "other" {
		t.Errorf("they are %q", got)
	}
	d.must(os.Rename(filepath.Join(d.outbox, delegation.HeartbeatName), filepath.Join(other, delegation.HeartbeatName)))
	w := d.looked([]outbox.Settings{one, two}, alike, alike)
	if got := ids(w); got[0] != id || got[1] != "" || w.boxAside("other") == nil || !strings.Contains(w.boxes[1].Leads().Error(), "the directory of outbox main") {
		t.Fatalf("exchanged they are %q, and it says %v", got, w.boxes[1].Leads())
	}
	_, err := w.accept(t.Context(), w.boxes[1], control.Same)
	d.must(err)
	if w = d.looked([]outbox.Settings{one, two}, alike, alike); ids(w)[1] != "other" || !w.boxes[1].Lost {
		t.Errorf("as an operator has decided they are %q, %v", ids(w), w.boxes[1].Lost)
	}
}

// TestATmpfsOfAnEarlierBoot is gone with what lay on it. One of this boot may come back, and where numbers say nothing a disk may.
func TestATmpfsOfAnEarlierBoot(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.takeJournal()
	one, id := d.settings("main", d.outbox), d.boxIn(d.config.Journal, "main")
	here := inode.Directory{FileSystem: 4, Inode: 5, Birth: 6, Boot: 8}
	for was, want := range map[inode.Directory]string{
		{FileSystem: 1, Inode: 2, Birth: 3, Boot: 7}: id,
		{FileSystem: 1, Inode: 2, Birth: 3, Boot: 8}: "",
		{FileSystem: 4, Inode: 2, Birth: 3, Boot: 8}: "",
		{FileSystem: 1, Inode: 2, Birth: 3}:          "",
		{Inode: 7}:                                   "",
	} {
		d.must(d.config.Journal.KeepOutboxes(t0(), []journal.Outbox{{ID: id, Name: "main", Path: d.outbox, Directory: was}}))
		if got := ids(d.looked([]outbox.Settings{one}, here)); got[0] != want {
			t.Errorf("%+v in the place of %+v is %q, want %q", here, was, got[0], want)
		}
	}
}

// takeJournal opens the desk's journal for the test, while no watcher runs.
func (d *desk) takeJournal() {
	d.Helper()
	j := d.openJournal()
	d.Cleanup(func() { d.must(j.Close()) })
	d.config.Journal = j
}

// TestAnotherDirectoryOfAnOutbox waits: what belongs there may not be mounted. Where a person runs the watcher by hand it is taken for the outbox,
// if nothing is unfinished and it lies beside the earlier one.
func TestAnotherDirectoryOfAnOutbox(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.takeJournal()
	byHand := func(o outbox.Settings) outbox.Settings { o.Remade = true; return o }
	service, id := d.settings("main", d.outbox), d.boxIn(d.config.Journal, "main")
	one := byHand(service)
	was, baited := inode.Directory{FileSystem: 1, Inode: 2, Birth: 3}, d.newOutbox("baited")
	d.submit(ask{id: "bait", task: "echo bait", outbox: baited})
	for _, c := range []struct {
		name string
		here inode.Directory
		as   outbox.Settings
		want string // "" where it waits
		says string
	}{
		{"itself", was, service, id, ""},
		{"another one beside it", inode.Directory{FileSystem: 1, Inode: 4, Birth: 5}, one, id, ""},
		{"the same for a service", inode.Directory{FileSystem: 1, Inode: 4, Birth: 5}, service, "", "may not be mounted"},
		{"another one with requests", inode.Directory{FileSystem: 1, Inode: 6, Birth: 7}, byHand(d.settings("main", baited)), "", "requests lie in that directory"},
		{"another file system", inode.Directory{FileSystem: 6, Inode: 2, Birth: 3}, one, "", "may not be mounted"},
		{"one without a number", inode.Directory{Inode: 2}, one, "", "may not be mounted"},
		{"a tmpfs", inode.Directory{FileSystem: 7, Inode: 2, Birth: 4, Boot: 8}, one, "", "may not be mounted"},
		{"itself under another name and path", was, d.settings("renamed", d.newOutbox("moved")), id, ""},
	} {
		d.must(d.config.Journal.KeepOutboxes(t0(), []journal.Outbox{{ID: id, Name: "main", Path: d.outbox, Directory: was}}))
		w := d.looked([]outbox.Settings{c.as}, c.here)
		if got := ids(w); got[0] != c.want {
			t.Errorf("%s: it is %q, want %q", c.name, got[0], c.want)
		}
		if c.want == "" && !strings.Contains(w.boxes[0].Leads().Error(), c.says) {
			t.Errorf("%s: it says %v", c.name, w.boxes[0].Leads())
		}
	}
}

// TestAFileSystemWithoutANumber: its inode alone does not make a directory of another name and path an outbox that was there.
func TestAFileSystemWithoutANumber(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.takeJournal()
	numberless := inode.Directory{Inode: 1}
	known := ids(d.looked([]outbox.Settings{d.settings("one", d.newOutbox("1"))}, numberless))
	two := d.settings("two", d.newOutbox("2"))
	for _, as := range []control.Identity{control.Same, control.New} {
		w := d.looked([]outbox.Settings{two}, numberless)
		if got := ids(w); got[0] != "" {
			t.Errorf("the first is %q, and the second is taken for %q", known, got)
		}
		if accepted, err := w.accept(t.Context(), w.boxes[0], as); err != nil || (accepted.ID == known[0]) != (as == control.Same) {
			t.Errorf("accepted as %s it is %+v, %v", as, accepted, err)
		}
		d.must(d.config.Journal.KeepOutboxes(t0(), []journal.Outbox{{ID: known[0], Name: "one", Path: "/1", Directory: numberless}}))
	}
}

// TestACopyUnderTheNameOfAThird: one directory may be that of an outbox which is not in the configuration any more, has the numbers of
// another one's, and lies under the name of a third. The runs of the first are left aside as well.
func TestACopyUnderTheNameOfAThird(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.state = filepath.Join(t.TempDir(), "state")
	d.takeJournal()
	alike, apart := inode.Directory{FileSystem: 1, Inode: 2, Birth: 3}, inode.Directory{FileSystem: 7, Inode: 8, Birth: 9}
	y := d.newOutbox("y")
	d.must(d.config.Journal.KeepOutboxes(t0(), []journal.Outbox{
		{ID: "f", Name: "old", Path: "/was/f", Directory: alike},
		{ID: "y", Name: "y", Path: y, Directory: alike},
		{ID: "n", Name: "new", Path: "/was/n", Directory: apart},
	}))
	w := d.looked([]outbox.Settings{d.settings("y", y), d.settings("new", d.newOutbox("new"))}, alike, alike)
	if w.boxOf("y") == nil || w.boxAside("n") == nil || w.boxAside("f") == nil {
		t.Errorf("they are %q; the runs of f and n would be ended: %t, %t", ids(w), w.boxAside("f") == nil, w.boxAside("n") == nil)
	}
}
