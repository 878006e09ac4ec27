package soak

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/test/house"
)

// away has another directory at an outbox's path for a while, as where a file system is not mounted. Every second time the watcher is
// killed, and the next one finds the other directory. A request always lies in that: a watcher which finds an empty directory, and
// nothing unfinished, may rightly take it for the outbox.
func (f *fate) away(n stroke) {
	name, length := outboxes[n.which%len(outboxes)], 300*time.Millisecond+n.down
	s := span{deed: deedAway, begin: time.Now(), kept: true}
	comeBack := f.moveAway(name)
	<-time.After(length / 2)
	if n.live {
		killed := span{deed: deedKill, begin: time.Now(), kept: true}
		f.stop(syscall.SIGKILL)
		f.rise(n)
		f.felt(killed)
	}
	<-time.After(length / 2)
	comeBack()
	f.noted(s)
}

// moveAway moves an outbox away, and another directory with another request into its place, until it is told to undo that.
// The other directory then stays beside the outbox: a watcher may just be opening it.
func (s *scene) moveAway(name string) (comeBack func()) {
	path := s.boxes[name].Outbox
	kept, other := path+".kept", fmt.Sprintf("%s.other.%d", path, s.next())
	s.Mkdir(filepath.Join(other, "workspaces"))
	s.moving.Lock()
	defer s.moving.Unlock()
	s.submitAstray(subject{name, "bait"}, step{kind: kinds[0].of}, s.Beside(other))
	s.Must(os.Rename(path, kept))
	s.Must(os.Rename(other, path))
	s.held[name] = s.Beside(kept)
	return func() {
		s.moving.Lock()
		defer s.moving.Unlock()
		s.Must(os.Rename(path, other))
		s.Must(os.Rename(kept, path))
		delete(s.held, name)
		s.untouched(other)
	}
}

// untouched wants nothing in a directory but what clients have written there.
func (s *scene) untouched(dir string) {
	s.Must(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), "request_") {
			s.note(func() {
				s.odd = append(s.odd, fmt.Sprintf("in another directory than the outbox somebody has made %s", path))
			})
		}
		return err
	}))
}

// where is the directory of a subagent's outbox, which its client holds, wherever it is.
func (s *scene) where(who subject) *house.House {
	if held := s.held[who.outbox]; held != nil {
		return held
	}
	return s.boxes[who.outbox]
}

// workspaceIn makes a directory in an outbox, and names it by the outbox's path.
func (s *scene) workspaceIn(who subject, name string) string {
	s.Mkdir(s.where(who).Path(name))
	return s.boxes[who.outbox].Path(name)
}

// astray is a client that opens the path of an outbox that is away. A request goes into the wrong directory, and is lost with it.
// All else fails, since its file is not there, and the client tries again at another time.
func (s *scene) astray(who subject, n step) {
	if n.act == actAsk || n.act == actSupersede {
		s.submitAstray(who, n, s.boxes[who.outbox])
	}
}

// submitAstray writes a request into a directory that is not the outbox, with a workspace there, and notes that nothing was asked.
func (s *scene) submitAstray(who subject, n step, where *house.House) {
	a := s.newAsk(who, n)
	a.unasked = true
	s.Mkdir(where.Path("workspaces/" + filepath.Base(a.Workspace)))
	where.Submit(a.Ask)
	s.note(func() {
		a.written, a.left = []time.Time{time.Now()}, []time.Time{time.Now()}
		s.asks = append(s.asks, a)
	})
}
