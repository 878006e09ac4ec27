package client

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/test/house"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m)) }

// planted is in everything that a client may not take; secret is what traps lead to.
const (
	planted = "planted"
	secret  = "planted: the parent's own key"
)

// patience bounds what an honest client does at once.
const patience = house.Patience

// scene is an outbox with a client, the parent's own files beside it, and a host that the test plays.
type scene struct {
	testing.TB
	base   string // of the outbox and of the parent's files
	host   *delegation.Dir
	client *manager.Manager
	run    *manager.Run
}

func newScene(t testing.TB) *scene {
	t.Helper()
	s := &scene{TB: t, base: t.TempDir()}
	outbox := filepath.Join(s.base, "outbox")
	s.must(os.Mkdir(outbox, 0o755), os.WriteFile(s.secret(), []byte(secret), 0o600))
	var err error
	s.host, err = delegation.OpenDir(outbox)
	s.must(err)
	t.Cleanup(func() { s.host.Close() })
	s.beat()
	s.client, err = manager.New(outbox, manager.Options{Poll: 5 * time.Millisecond})
	s.must(err)
	t.Cleanup(func() { s.client.Close() })
	return s
}

func (s *scene) must(errs ...error) {
	s.Helper()
	for _, err := range errs {
		if err != nil {
			s.Fatal(err)
		}
	}
}

func (s *scene) path(name string) string { return filepath.Join(s.base, "outbox", name) }

func (s *scene) secret() string { return filepath.Join(s.base, "secret") }

// spawn asks for a run whose answer lies in a directory of its workspace.
func (s *scene) spawn() {
	s.Helper()
	run, err := s.client.Spawn(s.Context(), manager.SpawnOptions{ID: "s1", Task: "true", AnswerFile: "out/answer.txt"})
	s.must(err)
	s.run = run
	s.must(os.MkdirAll(filepath.Dir(s.answer()), 0o755))
}

func (s *scene) answer() string { return filepath.Join(s.run.Workspace(), "out", "answer.txt") }

// wait takes the result, and fails where that takes long.
func (s *scene) wait() manager.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	result, err := s.run.Wait(ctx)
	s.must(err)
	s.must(s.run.Acknowledge(result))
	return result
}

// beat says that a watcher serves the outbox. The pace is so slow that one beat is enough for a test.
func (s *scene) beat() { s.publish(delegation.HeartbeatName, s.encoded(heartbeat(""))) }

// respond is the true end of the run.
func (s *scene) respond() {
	s.publish("response_s1.json", s.encoded(response(s.run.RequestID(), "the truth")))
}

func (s *scene) publish(name string, data []byte) {
	s.Helper()
	s.must(s.host.Publish(name, data))
}

type encoder interface{ Encode() ([]byte, error) }

func (s *scene) encoded(e encoder) []byte { s.Helper(); return encoded(s, e) }

func encoded(t testing.TB, e encoder) []byte {
	t.Helper()
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func heartbeat(notice string) delegation.Heartbeat {
	return delegation.Heartbeat{
		Version: 1, Protocol: 1, Watcher: "test" + notice, BeatAt: time.Now(), HeartbeatSeconds: 300,
		Profiles: []delegation.ProfileOffer{{Name: "sh"}}, Notices: delegation.Notices{{Code: delegation.NoticeLauncher, Text: notice}},
	}
}

func response(request, text string) delegation.Response {
	return delegation.Response{
		Version: 1, SubagentID: "s1", RequestID: request, Status: delegation.StatusCompleted, Reason: delegation.ReasonExited,
		StdoutTail: text, StartedAt: time.Now(), CompletedAt: time.Now(),
	}
}
