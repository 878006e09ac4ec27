package manager

import (
	"testing"
	"time"
)

// Here only a notification can end the wait: the poll comes after an hour.
func TestHintsEndAWaitAtOnce(t *testing.T) {
	h := newHost(t)
	m, err := New(h.path, Options{Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	wake, unsubscribe := m.hints.subscribe(run.concerns)
	defer unsubscribe()
	waited := make(chan error, 1)
	go func() {
		_, err := run.Wait(t.Context())
		waited <- err
	}()
	h.tell(run, "queued")
	<-wake
	h.respond(run)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

func TestHintsAreOnlyAboutWhatIsWanted(t *testing.T) {
	h := newHints(t.TempDir(), nil)
	h.start.Do(func() {})
	wake, unsubscribe := h.subscribe(func(name string) bool { return name == "mine" })
	h.tell("other")
	if len(wake) != 0 {
		t.Error("a hint about a file of others")
	}
	for range 3 {
		h.tell("mine")
	}
	if len(wake) != 1 {
		t.Errorf("%d hints wait", len(wake))
	}
	<-wake
	unsubscribe()
	h.tell("mine")
	if len(wake) != 0 {
		t.Error("a hint after the end of the subscription")
	}
}

// Where inotify cannot be had, the poll does.
func TestWaitWithoutHints(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{Poll: time.Millisecond})
	m.hints = newHints(h.join("nowhere"), m.log)
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	waited := make(chan error, 1)
	go func() {
		_, err := run.Wait(t.Context())
		waited <- err
	}()
	h.respond(run)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
