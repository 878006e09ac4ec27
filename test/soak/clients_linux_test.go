package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"torno/test/house"
)

// clients lets them do what they like until ctx is done.
func (s *scene) clients(ctx context.Context, d dice) {
	for {
		next := nextStep(d)
		select {
		case <-ctx.Done():
			return
		case <-time.After(next.wait):
			s.take(next)
		}
	}
}

// take does what was decided, where it fits what is there.
func (s *scene) take(n step) {
	s.moving.Lock()
	defer s.moving.Unlock()
	who := subjects[n.who]
	if s.held[who.outbox] != nil && n.pathOnly {
		s.astray(who, n)
		return
	}
	now := s.lying(who)
	if now != nil && now.dir && (n.act == actSupersede || n.act == actNonsense) {
		return
	}
	switch n.act {
	case actAsk:
		if now == nil || s.answered(now) {
			s.tidy(who, now, n.which)
			s.submit(s.newAsk(who, n))
		}
	case actSupersede:
		if now != nil {
			s.submit(s.newAsk(who, n))
		}
	case actCancel:
		if now != nil {
			s.note(func() { now.cancelled = append(now.cancelled, time.Now()) })
			s.where(who).TouchAged("cancel_"+who.id, n.age)
		}
	case actTakeAway:
		s.takeAway(who, now)
	case actAgain:
		s.again(who, now, n.which)
	case actNonsense:
		s.nonsense(who, n)
	case actCollect:
		if now != nil && s.answered(now) {
			s.tidy(who, now, n.which)
		}
	}
}

// newAsk is a request that was never there.
func (s *scene) newAsk(who subject, n step) *ask {
	token := fmt.Sprintf("%s.%d", who.id, s.next())
	a := &ask{
		Ask: house.Ask{
			ID: who.id, Request: token, Task: n.kind.taskFor(token), Workspace: s.workspace(who, n.sharing),
			Timeout: max(n.kind.timeout, 1), Profile: n.profile, Age: n.age,
		},
		subject: who, kind: n.kind, attempts: 1,
	}
	if n.kind.timeout == 0 {
		a.Timeout = plenty
	}
	if n.profile == profileAgain {
		a.attempts = 2
	}
	return a
}

// workspace makes the workspace of a run and returns its path.
func (s *scene) workspace(who subject, how workspaceSharing) string {
	switch how {
	case sharedByAll:
		return s.Mkdir(filepath.Join(s.common, "workspace"))
	case sharedInOutbox:
		return s.workspaceIn(who, "workspaces/shared")
	}
	return s.workspaceIn(who, "workspaces/"+who.id)
}

// submit writes a request, in the place of whatever lies there.
func (s *scene) submit(a *ask) {
	s.put(a)
	s.where(a.subject).Submit(a.Ask)
}

// put notes that a request is about to be written.
func (s *scene) put(a *ask) {
	s.note(func() {
		if was := s.in[a.subject]; was != nil && was != a {
			was.left = append(was.left, time.Now())
		}
		if len(a.written) == 0 {
			s.asks = append(s.asks, a)
		}
		a.written = append(a.written, time.Now())
		s.in[a.subject] = a
	})
}

// takeAway gives a request up.
func (s *scene) takeAway(who subject, now *ask) {
	if now == nil || s.answered(now) {
		return
	}
	s.note(func() { now.left = append(now.left, time.Now()); s.in[who] = nil })
	s.Must(os.Remove(s.where(who).Path("request_" + who.id + ".json")))
}

// again writes the request that lies there once more, or one that did.
func (s *scene) again(who subject, now *ask, which int) {
	if now == nil {
		var past []*ask
		s.note(func() {
			for _, a := range s.asks {
				if a.subject == who && !a.nonsense && !a.unasked {
					past = append(past, a)
				}
			}
		})
		if len(past) == 0 {
			return
		}
		now = past[which%len(past)]
	}
	if !now.nonsense {
		s.submit(now)
	}
}

// tidy removes what a client that has its answer removes, in one order or the other. Some leave the request, where it does
// not keep the next one out.
func (s *scene) tidy(who subject, now *ask, which int) {
	if now == nil {
		return
	}
	h := s.where(who)
	request, response := h.Path("request_"+who.id+".json"), h.Path("response_"+who.id+".json")
	if which%4 == 0 && !now.dir {
		s.note(func() { now.dropped = time.Now() })
		s.vanish(response)
		return
	}
	s.note(func() { now.left = append(now.left, time.Now()); s.in[who] = nil })
	if which%4 == 1 {
		s.vanish(response)
		s.vanish(request)
		return
	}
	s.vanish(request)
	s.vanish(response)
}

// vanish removes a file that may be gone.
func (s *scene) vanish(path string) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		s.Error(err)
	}
}

// nonsense writes something that is no request.
func (s *scene) nonsense(who subject, n step) {
	a := s.newAsk(who, n)
	a.nonsense = true
	h := s.where(who)
	final := h.Path("request_" + who.id + ".json")
	temp := final + ".tmp"
	body := map[string]any{
		"version": 1, "subagent_id": who.id, "request_id": a.token(), "task": "true", "workspace": "/etc", "timeout_seconds": 5,
	}
	switch n.which % 6 {
	case 0:
		s.writeJSON(temp, body)
	case 1:
		s.Must(os.WriteFile(temp, []byte(`{"version": 1, "subagent_id": "`), 0o644))
	case 2:
		s.Must(os.Symlink("/etc/passwd", temp))
	case 3:
		s.Must(syscall.Mkfifo(temp, 0o644))
	case 4:
		if s.lying(who) != nil {
			return // a directory replaces no file
		}
		a.dir = true
		s.Must(os.Mkdir(temp, 0o755))
	case 5:
		body["subagent_id"] = "somebody-else"
		s.writeJSON(temp, body)
	}
	s.put(a)
	s.Must(os.Rename(temp, final))
}

func (s *scene) writeJSON(path string, body any) {
	data, err := json.Marshal(body)
	s.Must(err)
	s.Must(os.WriteFile(path, data, 0o644))
}
